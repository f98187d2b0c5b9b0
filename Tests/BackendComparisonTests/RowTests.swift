#if Instrument && DEBUG
import Foundation
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// Real turns of timers without the library.
@Suite(.works("tasks have a clock of their own"))
struct TaskSleepTests {
    @Test(arguments: [1, 5], [HandlerPlace.inline, .main])
    func everyDeadlineIsAccountedFor(timers: Int, place: HandlerPlace) throws {
        let row = try Short.measure([NamedRow(.taskSleep(.until))]) { ($0.timers, $0.delivery) = (timers, place) }[0]
        #expect(row.key == RowKey("task-sleep", .peer) && row.failure == nil)
        #expect(row.lateness.count >= 20 * UInt64(timers))
    }

    /// Each sleep begins when the one before it has ended.
    @Test func aLoopThatSleepsForItsPeriodIsLaterAndLater() throws {
        var measurement = Measurement(try Short.plan([NamedRow(.taskSleep(.forPeriod))]) { $0.deadlines = 50 })
        var latenesses: [Int64] = []
        _ = try measurement.run(
            goesOn: { _ in true },
            turnEnded: { _, _, turn in latenesses += turn.recordings[0].samples.map(\.lateness) }
        )
        let row = measurement.rows[0]
        #expect(row.key == RowKey("sleep-for", .relative) && row.failure == nil && row.problem == nil)
        // A turn ends with its time, and not with the fiftieth sleep.
        #expect(!latenesses.isEmpty && latenesses == Set(latenesses).sorted() && latenesses[0] > 0)
    }

    /// The turn would last a minute.
    @Test func aStoppedTurnEndsItsTasks() throws {
        var measurement = Measurement(try Short.plan([NamedRow(.taskSleep(.until))]) { $0.deadlines = 30_000 })
        #expect(try !measurement.run { _ in false })
    }

    /// Peers are measured on the suspending clock.
    @Test func deadlinesOfATooShortPeriodAreAccountedFor() throws {
        let rows = try Short.measure([NamedRow(.taskSleep(.until))]) { request in
            (request.period, request.deadlines, request.clock) = (.microseconds(1), 200, .wall)
        }
        #expect(rows[0].lateness.count >= 200)
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

    @Test(arguments: Bare.allCases)
    func manyTimersAreAccountedFor(_ bare: Bare) throws {
        let row = try Short.measure([NamedRow(.bare(bare))]) { $0.timers = 7 }[0]
        #expect(row.lateness.count >= 140 && row.problem == nil && row.failure == nil)
    }
}

@Suite struct RowAndLoadTests {
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

    @Test func aRowUnderALoadIsNamedByBoth() {
        let rows = [
            PlannedRow(row: NamedRow(.backend(.timerFD)), load: .idle),
            PlannedRow(row: NamedRow(.backend(.timerFD), number: 2), load: .cpu(2)),
        ]
        #expect(rows.map(\.key.description) == ["timerfd", "timerfd#2@cpu:2"])
    }
}

/// Loads on the machine.
@Suite(.serialized, .works("the loads keep processors busy"))
struct LoadTests {
    @Test(arguments: ["idle", "busy", "cpu:2"])
    func everyRowAccountsForItsDeadlinesUnderEveryLoad(_ load: String) throws {
        let asked = [NamedRow(.backend(.timerFD)), NamedRow(.bare(.timerFD)), NamedRow(.taskSleep(.until))]
        let rows = try Short.measure(asked) { $0.loads = [(try? Load.parse(load)) ?? .idle] }
        #expect(rows.map(\.key.load) == [load, load, load])
        #expect(rows.allSatisfy { $0.lateness.count >= 20 && $0.problem == nil && $0.failure == nil })
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

    @Test func theKernelEndsAProgramThatOutlivesItsTime() async {
        await #expect(processExitsWith: .success) {
            let load = try LoadRun(.cpu(1), for: .seconds(60))
            load.begin()
            let shell = try #require(Self.busyProcesses.keys.first)
            #expect(eventually { ProcFile.text("/proc/\(shell)/limits")?.contains(#/Max cpu time +70 +70 /#) == true })
        }
    }

    @Test func aBusyLoadHasNoMoreProgramsThanTheQuotaHasRoomFor() {
        let cases: [(Int, Double?, Int)] = [
            (8, nil, 8), (8, 0.05, 1), (8, 1, 1), (8, 1.01, 2), (8, 64, 8), (2, 1e300, 2), (-1, nil, 1), (8, .nan, 8),
        ]
        #expect(cases.map { Load.busyPrograms(on: $0.0, quota: $0.1) } == cases.map(\.2))
    }

    /// A load that is none must not be called busy.
    @Test func aLoadWhoseProgramHasEndedSaysHow() async {
        await #expect(processExitsWith: .success) {
            let load = try LoadRun(.cpu(2), for: .seconds(60))
            load.begin()
            pause(.milliseconds(50))
            #expect(load.failure == nil)
            let first = try #require(Self.busyProcesses.keys.first)
            kill(first, SIGKILL)
            #expect(eventually { load.failure == "a program of the load cpu:2 ended: signal 9" })
        }
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
            if whileWorking { load.begin() }
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
#endif
