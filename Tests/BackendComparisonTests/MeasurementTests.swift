#if Instrument && DEBUG
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// Carrying out a plan.
@Suite(.works("turns measure real ticks and processor time")) struct MeasurementTests {
    /// The default slack of 50 µs would put the floor above what stands on it.
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE to read another thread's slack"))
    func theFloorOfSleepsHasATimerSlackOfOneNanosecond() throws {
        var (slacks, looks): ([Int], Int) = ([], 0)
        var measurement = Measurement(try Short.plan([NamedRow(.bare(.nanosleep))]) { $0.deadlines = 30_000 })
        _ = try? measurement.run { _ in
            slacks += ProcFS.timerSlacks(ofThreadsNamed: "bare.nanosleep")
            looks += 1
            return !slacks.contains(1) && looks < 100
        }
        #expect(slacks.contains(1))
    }

    @Test func everyRowHasATurnInEachLapAndTheMachineIsWatched() throws {
        let names = ["timerfd", "dispatch", "task-sleep", "bare"]
        var measurement = Measurement(try Short.plan(try NamedRow.parse(names.joined(separator: ","))) { $0.laps = 5 })
        #expect(try measurement.run(goesOn: { _ in true }))
        #expect(measurement.rows.map(\.key.row) == names && Set(measurement.policies.keys) == Set(names))
        #expect(measurement.rows.allSatisfy { $0.turns.count == 5 && $0.turns.allSatisfy { $0.median > 0 } })
        #expect(measurement.laps.count == 5 && measurement.machine.loadAverage != nil)
        #expect((0...100).contains(measurement.machine.others ?? 0))
    }

    /// What was measured stays: nothing in the warm-up; the rows after it in the last lap lack a turn.
    @Test(arguments: [(0, [0, 0]), (3, [1, 2])])
    func aStoppedMeasurementKeepsItsTurns(most: Int, kept: [Int]) throws {
        var turns = 0
        var measurement = Measurement(
            try Short.plan([NamedRow(.bare(.timerFD)), NamedRow(.bare(.nanosleep))]) { $0.laps = 100 }
        )
        #expect(try !measurement.run(goesOn: { _ in turns < most }, turnEnded: { _, _, _ in turns += 1 }))
        #expect(measurement.rows.map(\.turns.count).sorted() == kept)
    }

    /// A run loop cannot wait on the wall clock. The command refuses such a row; here it stands for any that fails.
    @Test func aRowThatFailsIsGivenUpAndTheOthersGoOn() throws {
        let rows = try Short.measure([NamedRow(.backend(.runLoop)), NamedRow(.backend(.timerFD))]) { request in
            (request.clock, request.laps) = (.wall, 2)
        }
        #expect(rows[0].turns.isEmpty && rows[0].failure?.contains("wall") == true)
        #expect(rows[1].failure == nil && rows[1].turns.count == 2)
        #expect(throws: Failure.self) {
            try Short.measure([NamedRow(.backend(.runLoop))]) { $0.clock = .wall }
        }
    }
}

@Suite struct ProgressTests {
    private func line(_ stage: String, of row: String = "timerfd", elapsed: Duration, total: Duration = .seconds(12))
        -> String
    { MeasurementProgress(stage: stage, row: row, elapsed: elapsed, total: total).line() }

    /// It stays full when it takes longer.
    @Test func theBarFillsUp() {
        let full = "[========================] lap 3: timerfd, 0 s left"
        let lines = [
            line("warm-up", elapsed: .zero), line("lap 2", elapsed: .seconds(6)),
            line("lap 3", elapsed: .seconds(1_000_000_000)), line("lap 3", elapsed: .nanoseconds(5), total: .zero),
        ]
        let bars = [
            "[                        ] warm-up: timerfd, 12 s left",
            "[============            ] lap 2: timerfd, 6 s left", full, full,
        ]
        #expect(lines == bars)
    }

    @Test func aLongNameIsCutToFitTheLine() {
        let line = line("lap 100", of: "bare-nanosleep#2@handler:200us@some-more", elapsed: .zero)
        #expect(line.count == 79 && line.hasSuffix("…, 12 s left"))
    }
}

/// Short measurements.
enum Short {
    /// One lap of twenty deadlines of 2 ms.
    static func plan(_ rows: [NamedRow], _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> MeasurementPlan
    {
        var request = MeasurementPlan.Request(rows: rows)
        (request.period, request.deadlines, request.laps) = (.milliseconds(2), 20, 1)
        // Some rows tick on the threads of the tests themselves, which other tests may keep busy for minutes.
        request.patience = .seconds(1_800)
        change(&request)
        return try MeasurementPlan(request)
    }

    /// The rows of a whole measurement.
    static func measure(_ rows: [NamedRow], _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> [MeasuredRow]
    {
        var measurement = Measurement(try plan(rows, change))
        _ = try measurement.run(goesOn: { _ in true })
        return measurement.rows
    }
}

@Suite struct RowTests {
    @Test func theSecondOfTwoEqualRowsIsNumbered() throws {
        let rows = try NamedRow.parse("timerfd,dispatch,timerfd,timerfd,bare,task-sleep,bare")
        #expect(rows.map(\.name) == ["timerfd", "dispatch", "timerfd#2", "timerfd#3", "bare", "task-sleep", "bare#2"])
        #expect(Set(rows).count == 7)
        #expect(rows.map(\.kind) == [.backend, .backend, .backend, .backend, .bare, .peer, .bare])
    }

    @Test(arguments: ["", "timerfd,", "epoll", "timerfd#2", "timerfd, dispatch"])
    func otherRowsAreRefusedWithTheNamesOfAll(text: String) {
        let problem = #expect(throws: Failure.self) { try NamedRow.parse(text) }
        for row in NamedRow.all { #expect(problem?.description.contains(row.name) == true) }
    }

    @Test func theUsualRowsBeginWithTheBase() {
        let rows = NamedRow.usual(on: .suspending).map(\.name)
        #expect(rows.first == RowKey.base && rows.suffix(3) == ["task-sleep", "sleep-for", RowKey.bare])
        #expect(!NamedRow.usual(on: .wall).map(\.name).contains("runloop"))
        #expect(NamedRow(.backend(.runLoop)).obstacle(on: .wall)?.contains("wall clock") == true)
    }

    /// It is neither a backend that a need may choose nor what people use today.
    @Test func aTaskOnTheExecutorIsARowThatOnlyItsNameAsksFor() throws {
        let row = try NamedRow.parse("task-sleep-hybrid")[0]
        #expect(row.kind == .executor && NamedRow.tasks == row.name && !NamedRow.peers.contains(row.name))
        #expect(!NamedRow.usual(on: .suspending).contains(row))
        #expect(row.clock(asked: .wall) == .suspending && HandlerPlace.allCases.filter(row.runs) == [.inline])
        let wishes = try ThreadWishes.parse("spin:50us")
        #expect(throws: Never.self) { try plan { ($0.rows, $0.wishes) = ([row], wishes) } }
        #if compiler(>=6.3) && compiler(<6.4)
        #expect(row.obstacle(on: .wall) == nil)
        #else
        #expect(row.obstacle(on: .wall)?.contains("Swift 6.3") == true)
        #endif
    }
}

/// Real turns of timers without the library.
@Suite(.works("tasks have a clock of their own"))
struct TaskSleepTests {
    /// Also those of a too short period. Peers are measured on the suspending clock.
    @Test(arguments: [(1, .inline, 2_000), (5, .inline, 1), (5, .main, 2_000)] as [(Int, HandlerPlace, Int64)])
    func everyDeadlineIsAccountedFor(timers: Int, place: HandlerPlace, period: Int64) throws {
        let rows = try Short.measure([NamedRow(.taskSleep(.until))]) { request in
            (request.timers, request.delivery, request.clock) = (timers, place, .wall)
            request.period = .microseconds(period)
        }
        let row = rows[0]
        #expect(row.key == RowKey("task-sleep", .peer) && row.failure == nil)
        #expect(row.lateness.count >= 20 * UInt64(timers))
    }

    /// The default executor's threads have another policy.
    @Test(
        .enabled(if: TaskSleep.obstacleOnService == nil, "needs Swift 6.3"),
        .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE")
    )
    func aTaskOnTheExecutorTicksOnTheThreadOfItsService() throws {
        let wishes = try ThreadWishes.parse("fifo:1")
        let plan = try Short.plan(try NamedRow.parse("task-sleep-hybrid,task-sleep")) { request in
            (request.timers, request.clock, request.wishes) = (3, .wall, wishes)
        }
        var measurement = Measurement(plan)
        #expect(try measurement.run(goesOn: { _ in true }))
        let row = measurement.rows[0]
        #expect(row.key == RowKey("task-sleep-hybrid", .executor) && row.failure == nil && row.spin != nil)
        #expect(row.lateness.count >= 60 && row.early == 0)
        #expect(measurement.policies == ["task-sleep-hybrid": "fifo:1", "task-sleep": "ordinary"])
    }

    /// Its tasks go on, in other threads.
    @Test func aFailureOfTheServiceIsOneOfTheTasksOnIt() throws {
        let alarm = RefusingAlarm()
        let service = try TimerService(alarm: alarm)
        let probe = Probe(Deadlines(start: TimerClock.suspending.now, period: 1_000_000), goal: 1)
        let tasks = try TaskSleep([probe], .untilOnHybrid, on: service)
        #expect(tasks.failure == nil)
        alarm.fail()
        #expect(eventually { "\(tasks.failure, default: "none")".contains("no luck") })
        #expect(throws: TimerError.self) { try TaskSleep([probe], .untilOnHybrid, on: service) }
    }

    /// Each sleep begins when the one before it has ended.
    @Test func aLoopThatSleepsForItsPeriodIsLaterAndLater() throws {
        var latenesses: [Int64] = []
        // A turn ends with its time, and not with the fiftieth sleep. Other tests may have all threads of the tasks for
        // minutes.
        for _ in 1...10_000 where latenesses.isEmpty {
            var measurement = Measurement(try Short.plan([NamedRow(.taskSleep(.forPeriod))]) { $0.deadlines = 50 })
            _ = try measurement.run(
                goesOn: { _ in true },
                turnEnded: { _, _, turn in latenesses = turn.recordings[0].samples.map(\.lateness) }
            )
            let row = measurement.rows[0]
            #expect(row.key == RowKey("sleep-for", .relative) && row.failure == nil && row.problem == nil)
        }
        #expect(latenesses.first ?? 0 > 0)
        #expect(latenesses == Set(latenesses).sorted())
    }
}

/// The loops that backends are compared with.
@Suite(.works("a bare loop sleeps in the kernel")) struct BareTests {
    @Test func afterAStallEveryTimerIsOnItsGridAgain() {
        let start = TimerInstant(nanoseconds: 1_000_000)
        let probes = [0, 300, 700].map { Probe(Deadlines(start: start + $0, period: 1000), goal: 20) }
        var (now, waits) = (start, 0)
        BareLoop.loop(
            probes,
            StopFlag(),
            waitingBy: { deadline in
                waits += 1
                // The seventh wake-up is late by more than two periods, all others by 10 ns.
                now = max(now, deadline) + (waits == 7 ? 2_400 : 10)
            },
            readingBy: { _ in now }
        )
        let results = probes.map(\.result)
        #expect(results.allSatisfy { $0.problem == nil && $0.accounted == 20 })
        #expect(results.map(\.missed) == [2, 2, 1])
        // The stall made one tick of each timer late.
        #expect(results.map { $0.samples.filter { $0.lateness > 30 }.count } == [1, 1, 1])
    }

    /// Each timer has a period of its own, and they end one after the other.
    @Test func aLoopWaitsForTheEarliestOfItsTimers() {
        let timers: [(probe: Probe, goal: UInt64)] = (0..<50)
            .map { (number: UInt64) in
                let start = TimerInstant(nanoseconds: 1_000_000 + number * 37 % 50)
                let goal = 5 + number % 7
                return (Probe(Deadlines(start: start, period: 1000 + number * 17 % 50), goal: goal), goal)
            }
        var waits: [TimerInstant] = []
        BareLoop.loop(
            timers.map(\.probe),
            StopFlag(),
            waitingBy: { waits.append($0) },
            readingBy: { _ in waits[waits.count - 1] }
        )
        let deadlines = timers.flatMap { timer in (0..<timer.goal).map { timer.probe.deadlines[$0] } }
        #expect(waits == Set(deadlines).sorted())
    }

    @Test(arguments: Bare.allCases, [TimerClock.suspending, .continuous, .wall])
    func manyTimersAreAccountedFor(_ bare: Bare, on clock: TimerClock) throws {
        let row = try Short.measure([NamedRow(.bare(bare))]) { ($0.timers, $0.clock) = (7, clock) }[0]
        #expect(row.lateness.count >= 140 && row.problem == nil && row.failure == nil)
    }

    @Test func aWaitForTheBeginningOfAClockEnds() throws {
        TimerClock.wall.sleep(until: 0)
        try BareTimer(.wall).wait(until: 0)
    }
}

/// Loads on the machine.
@Suite(.serialized, .works("the loads keep processors busy"))
struct LoadTests {
    @Test(arguments: [
        ("idle", Load.idle), ("busy", .busy), ("cpu", .cpu(1)), ("cpu:2", .cpu(2)), ("cpu:256", .cpu(256)),
    ])
    func aLoadIsReadAndNamed(text: String, load: Load) throws {
        #expect(try Load.parse(text) == load)
        #expect(try Load.parse(load.name) == load)
    }

    @Test(arguments: [
        "", "idle:", "idle:1", "busy:2", "cpu:", "cpu:0", "cpu:-1", "cpu:1025", "cpu:1.5", "cpu:two", "CPU", "cpu:1:2",
        "memory", "handler:1ms", " idle", "disk", "cpu:99999999999999999999",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Failure.self) { try Load.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    @Test func theCostOfARowDoesNotIncludeItsLoad() async {
        // In its own process: the cost is that of a whole process.
        await #expect(processExitsWith: .success) {
            let rows = try Short.measure([NamedRow(.bare(.timerFD))]) { ($0.loads, $0.deadlines) = ([.cpu(1)], 250) }
            let turn = try #require(rows[0].turns.first)
            let cpu = try #require(turn.cpu)
            #expect(cpu > 0 && Double(cpu) < 0.5 * Double(turn.elapsed))
        }
    }

    /// The children of this process that spin, and the processor time that they have used, in clock ticks.
    private static var busyProcesses: [Int32: Int] {
        Dictionary(uniqueKeysWithValues: ProcFS.children(named: "sh").map { ($0, ProcFS.processorTicks(of: $0) ?? 0) })
    }

    /// The signal that stops them takes a moment.
    private static var areStopped: Bool { busyProcesses.keys.allSatisfy(ProcFS.isStopped) }

    /// The parent of this process lives, and is not that of the shell: the parent ended before the shell began.
    @Test func aProgramOfALoadEndsIfItsParentEndedBeforeItBegan() async throws {
        var program = try ChildProcess("/bin/sh", ["-c", busyScript(of: getppid(), for: .seconds(60))])
        for _ in 0..<5_000 where program.poll() == nil { try await Task.sleep(for: .milliseconds(2)) }
        #expect(program.poll()?.code == 0)
    }

    @Test func aLoadOfProgramsStandsStillAndWorksAndLeavesNoProcess() async {
        await #expect(processExitsWith: .success) {
            let most = Load.busyPrograms(on: Processors.usable ?? Processors.online, quota: CPUQuota.current.limit)
            for (kind, count) in [(Load.busy, most), (.cpu(3), 3)] {
                let load = try LoadRun(kind, for: .seconds(60))
                #expect(eventually { Self.areStopped })
                let ready = Self.busyProcesses
                #expect(ready.count == count)
                pause(.milliseconds(100))
                #expect(Self.busyProcesses == ready, "they stand still")
                load.begin()
                #expect(eventually { Self.busyProcesses.allSatisfy { $0.value > ready[$0.key, default: 0] + 5 } })
                // The kernel ends a program that outlives its time.
                let limits = ready.keys.compactMap { ProcFile.text("/proc/\($0)/limits") }
                #expect(limits.count { $0.contains(#/Max cpu time +70 +70 /#) } == count)
                load.halt()
                #expect(eventually { Self.areStopped })
                let halted = Self.busyProcesses
                pause(.milliseconds(100))
                #expect(Self.busyProcesses == halted)
            }
            #expect(Self.busyProcesses.isEmpty)
        }
    }

    /// Under `chrt -f 80 compare-backends --load busy`, shells of that priority took both processors for ten minutes.
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE")) func theProgramsAreOrdinaryUnderARealTimePolicy()
        async
    {
        await #expect(processExitsWith: .success) {
            var priority = sched_param(sched_priority: 1)
            #expect(unsafe sched_setscheduler(0, SCHED_FIFO, &priority) == 0)
            let load = try LoadRun(.cpu(2), for: .seconds(60))
            #expect(Self.busyProcesses.keys.map { sched_getscheduler($0) } == [SCHED_OTHER, SCHED_OTHER])
            withExtendedLifetime(load) {}
        }
    }

    @Test func aBusyLoadHasNoMoreProgramsThanTheQuotaHasRoomFor() {
        let cases: [(Int, Double?, Int)] = [
            (8, nil, 8), (8, 0.05, 1), (8, 1, 1), (8, 1.01, 2), (8, 64, 8), (2, 1e300, 2), (-1, nil, 1), (8, .nan, 8),
        ]
        #expect(cases.map { Load.busyPrograms(on: $0.0, quota: $0.1) } == cases.map(\.2))
    }

    @Test func aRowUnderALoadThatHasEndedFails() async {
        await #expect(processExitsWith: .success) {
            try Thread.start("test.kill") {
                while true {
                    for child in Self.busyProcesses.keys where !ProcFS.isStopped(child) { kill(child, SIGTERM) }
                    TimerClock.sleep(for: .milliseconds(1))
                }
            }
            let error = #expect(throws: Failure.self) {
                _ = try Short.measure([NamedRow(.bare(.timerFD))]) { $0.loads = [.cpu(1)] }
            }
            #expect(error?.description == "a program of the load cpu:1 ended: signal 15")
        }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// Whether they stand still or work at that moment. Their group is no orphan if the first process of a container,
    /// which then is their parent, belongs to the same session: so they would stand still until the container ends.
    @Test(arguments: getsid(1) == getsid(0) ? [true] : [false, true])
    func theProcessesEndIfTheCommandIsKilled(whileWorking: Bool) async throws {
        let file = try TemporaryFile()
        let list = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [list = list as String, whileWorking = whileWorking as Bool] in
            let load = try LoadRun(.busy, for: .seconds(60))
            if whileWorking { load.begin() } else { #expect(eventually { Self.areStopped }) }
            let children = Self.busyProcesses.keys.map(String.init).joined(separator: " ")
            try children.write(toFile: list, atomically: true, encoding: .utf8)
            kill(getpid(), SIGKILL)
        }
        let children = try String(contentsOfFile: list, encoding: .utf8).split(separator: " ").compactMap { Int32($0) }
        #expect(children.count == (Processors.usable ?? Processors.online))
        #expect(await soon { children.allSatisfy { kill($0, 0) != 0 || ProcFS.mainThreadHasEnded($0) } })
    }
    #endif
}

/// The stretches of several rows at the same time.
@Suite(.works("stretches measure real ticks")) struct StretchTests {
    /// A stretch of 0.3 s, or a third of another time.
    private func plan(_ rows: String, _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> MeasurementPlan
    {
        var request = MeasurementPlan.Request(rows: try NamedRow.parse(rows))
        (request.period, request.time, request.patience) = (.milliseconds(1), .milliseconds(1_000), .seconds(120))
        change(&request)
        return try MeasurementPlan(request)
    }

    private func recordings(_ plan: MeasurementPlan) -> [Result<Recording, Failure>] {
        StretchRun(rows: plan.stretches[0], plan: plan).measure { true }
    }

    @Test(arguments: [HandlerPlace.inline, .main])
    func theDeadlinesOfTheRowsAreSpreadOverThePeriod(_ place: HandlerPlace) throws {
        let plan = try plan("timerfd,dispatch,task-sleep,sleep-for,bare") { ($0.delivery, $0.timers) = (place, 3) }
        let all = try recordings(plan).map { try $0.get() }
        let starts = all.map(\.deadlines.start.nanoseconds)
        #expect(starts.map { $0 - starts[0] } == [0, 200_000, 400_000, 600_000, 800_000])
        // Tasks wait for the threads that other tests keep busy.
        #expect(all[0].ticks > 0 && all[4].ticks > 0 && all.allSatisfy { $0.early == 0 })
        #expect(all.allSatisfy { $0.deadlines.period == 1_000_000 })
    }

    /// A run loop cannot wait on the wall clock.
    @Test func aRowThatFailsIsNamedAndTheOthersGoOn() throws {
        let found = recordings(try plan("runloop,timerfd,bare") { $0.clock = .wall })
        #expect(throws: Failure.self) { try found[0].get() }
        #expect(try found[1].get().ticks > 0 && found[2].get().ticks > 0)
    }

    @Test func aLoadThatHasEndedFailsEachRow() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,bare"))
            (request.time, request.loads) = (.seconds(1), [.cpu(2)])
            let plan = try MeasurementPlan(request)
            let found = StretchRun(rows: plan.stretches[0], plan: plan)
                .measure {
                    // The last of the programs that work.
                    let working = ProcFS.children(named: "sh").filter { !ProcFS.isStopped($0) }
                    if let last = working.max() { kill(last, SIGKILL) }
                    return true
                }
            let words = "a program of the load cpu:2 ended: signal 9"
            #expect(found == [.failure(.failed(words)), .failure(.failed(words))])
        }
    }

    /// Ctrl-C in a stretch of 100 s must not lose its drift.
    @Test func aStoppedStretchKeepsItsTicks() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,sleep-for"))
            request.time = .seconds(3)
            var measurement = Measurement(try MeasurementPlan(request))
            var looks = 0
            let hasEnded = try measurement.run(goesOn: { progress in
                if progress.stage == "long stretch" { looks += 1 }
                return looks < 6
            })
            #expect(!hasEnded && measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil })
            #expect(measurement.rows.allSatisfy { $0.failure == nil })
        }
    }

    @Test func everyGroupHasItsStretch() throws {
        let plan = try plan("timerfd,sleep-for,bare") { request in
            (request.period, request.time, request.processors) = (.microseconds(200), .seconds(2), 1)
        }
        #expect(plan.stretches.map(\.count) == [1, 2])
        var measurement = Measurement(plan)
        #expect(try measurement.run(goesOn: { _ in true }))
        #expect(measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil && !$0.turns.isEmpty })
        #expect(measurement.rows[1].drift.map { $0.ppm > 0 } == true, "sleep-for runs away")
    }
}
#endif
