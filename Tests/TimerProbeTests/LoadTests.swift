import Foundation
import HostSystem
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Loads on the machine and on the measured services.
@Suite(.serialized, .works("the loads keep processors and memory busy"))
struct LoadTests {
    @Test(arguments: ["idle", "busy", "cpu:2", "handler:100us", "churn:5000", "pending:1000", "memory"])
    func everyRowAccountsForItsDeadlinesUnderEveryLoad(_ load: String) async throws {
        let asked = [NamedRow(.backend(.timerFD)), NamedRow(.bare(.timerFD)), NamedRow(.taskSleep)]
        let rows = try Short.measure(asked) { $0.loads = [(try? Load.parse(load)) ?? .idle] }
        #expect(rows.map(\.key.load) == [load, load, load])
        #expect(rows.allSatisfy { $0.lateness.count >= 20 && $0.problem == nil && $0.failure == nil })
        #expect(await soon { ProcFS.threads(named: "load.").isEmpty })
    }

    @Test func theCostOfARowDoesNotIncludeItsLoad() async {
        // In its own process: the cost is that of a whole process.
        await #expect(processExitsWith: .success) {
            let rows = try Short.measure([NamedRow(.bare(.timerFD))]) { ($0.loads, $0.deadlines) = ([.memory], 250) }
            let turn = try #require(rows[0].turns.first)
            let cpu = try #require(turn.cpu)
            #expect(cpu > 0 && Double(cpu) < 0.5 * Double(turn.elapsed))
        }
    }

    @Test func theAccountOfALoadIsExactWhileItDoesNotWork() async throws {
        // On a busy machine, a thread may get no processor on its way to sleep for longer than the load waits for it.
        let isExact = try await mostSucceed {
            let run = try LoadRun(.memory, on: nil)
            defer { run.stop() }
            let ready = try #require(run.usage)
            try await Task.sleep(for: .milliseconds(20))
            let stoodStill = run.usage == ready
            run.begin()
            #expect(await soon { run.usage.map { ($0 - ready).cpuNanoseconds > 20_000_000 } ?? false })
            run.halt()
            let halted = run.usage
            try await Task.sleep(for: .milliseconds(20))
            // The threads still exist, and sleep.
            return stoodStill && run.usage == halted
        }
        #expect(isExact)
        #expect(await soon { ProcFS.threads(named: "load.").isEmpty })
    }

    /// The children of this process that spin, and the processor time that they have used, in clock ticks.
    private static var busyProcesses: [Int32: Int] {
        Dictionary(uniqueKeysWithValues: ProcFS.children(named: "sh").map { ($0, ProcFS.processorTicks(of: $0) ?? 0) })
    }

    /// The signal that stops them takes a moment.
    private static var areStopped: Bool { busyProcesses.keys.allSatisfy(ProcFS.isStopped) }

    /// The parent of this process lives, and is not that of the shell: the parent ended before the shell began.
    @Test func aProgramOfALoadEndsIfItsParentEndedBeforeItBegan() async throws {
        var program = try ChildProcess("/bin/sh", ["-c", busyScript(of: getppid())])
        for _ in 0..<5_000 where program.poll() == nil { try await Task.sleep(for: .milliseconds(2)) }
        #expect(program.poll()?.code == 0)
    }

    @Test func aLoadOfProgramsStandsStillAndWorksAndLeavesNoProcess() async {
        await #expect(processExitsWith: .success) {
            let most = Load.busyPrograms(on: Processors.usable ?? Processors.online, quota: CPUQuota.current.limit)
            for (kind, count) in [(Load.busy, most), (.cpu(3), 3)] {
                let load = try LoadRun(kind, on: nil)
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
                #expect(load.usage == .zero, "the row's cost has none of it")
                load.stop()
            }
            #expect(Self.busyProcesses.isEmpty)
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
            let load = try LoadRun(.cpu(2), on: nil)
            load.begin()
            pause(.milliseconds(50))
            #expect(load.failure == nil)
            let first = try #require(Self.busyProcesses.keys.first)
            kill(first, SIGKILL)
            #expect(eventually { load.failure == "a program of the load cpu:2 ended: signal 9" })
            load.stop()
        }
    }

    @Test func aRowUnderALoadThatHasEndedFails() async {
        await #expect(processExitsWith: .success) {
            try KernelThread.start("test.kill") {
                while true {
                    for child in Self.busyProcesses.keys where !ProcFS.isStopped(child) { kill(child, SIGTERM) }
                    SystemClock.sleep(for: .milliseconds(1))
                }
            }
            let error = #expect(throws: MeasurementError.self) {
                _ = try Short.measure([NamedRow(.bare(.timerFD))]) { $0.loads = [.cpu(1)] }
            }
            #expect(error?.description == "a program of the load cpu:1 ended: signal 15")
        }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// Whether they stand still or work at that moment.
    @Test(arguments: [false, true])
    func theProcessesEndIfTheCommandIsKilled(whileWorking: Bool) async throws {
        let file = try TemporaryFile()
        let list = file.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [list = list as String, whileWorking = whileWorking as Bool] in
            let load = try LoadRun(.busy, on: nil)
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

    /// It may be stopped before it began, and twice.
    @Test func aStoppedLoadHasNoThreads() async throws {
        for begins in [false, true] {
            let run = try LoadRun(.memory, on: nil)
            if begins { run.begin() }
            run.stop()
            run.stop()
            #expect(await soon { ProcFS.threads(named: "load.").isEmpty })
            #expect(run.usage == nil, "a missing account is not zero")
        }
    }

    @Test func theMemoryLoadHasTheKernelFindMemory() async throws {
        let load = try LoadRun(.memory, on: nil)
        defer { load.stop() }
        load.begin()
        func faults() -> Int { ProcFS.pageFaults(ofThreadsNamed: "load.memory") }
        #expect(await soon { faults() > 10_000 })
        let first = faults()
        // The faults go on.
        #expect(await soon { faults() > first + 10_000 })
    }

    @Test func pendingTimersWaitUntilTheLoadStops() throws {
        let service = try TimerService(.timerFD)
        let load = try LoadRun(.pending(1000), on: service)
        #expect(service.activeTimers.count == 1000)
        let hour = service.now.advanced(by: .seconds(3_590))
        #expect(service.activeTimers.filter { ($0.nextDeadline ?? service.now) < hour }.isEmpty)
        load.stop()
        #expect(service.activeTimers.isEmpty)
        service.shutdown()
        #expect(throws: TimerError.self) { try LoadRun(.pending(10), on: service) }
    }

    @Test func churnKeepsToItsRate() async throws {
        let service = try TimerService(.timerFD)
        var (scheduled, patience) = (UInt64(0), 200)
        // A machine that does not let the thread run gets more time.
        while scheduled <= 200, patience < 60_000 {
            let (isStopped, ended) = (StopFlag(), Box<UInt64>())
            let start = service.now
            try KernelThread.start("test.churn") {
                ended.value = ChurnLoad(service, 20_000).run(until: isStopped)
            }
            try await Task.sleep(for: .milliseconds(patience))
            isStopped.set()
            #expect(await soon { ended.value != nil })
            let elapsed = start.duration(to: service.now)
            scheduled = try #require(ended.value)
            #expect(scheduled <= ChurnLoad.goal(perSecond: 20_000, after: UInt64(elapsed / .nanoseconds(1))))
            patience *= 2
        }
        #expect(scheduled > 200)
        #expect(service.activeTimers.isEmpty)
        service.shutdown()
    }

    @Test func theNumberOfChurnedTimersIsRoundedDown() {
        let goals = [(10_000, 999_999), (10_000, 1_000_000), (1, 999_999_999), (10_000_000, .max)]
            .map { ChurnLoad.goal(perSecond: $0, after: $1) }
        #expect(goals == [9, 10, 0, 184_467_440_737_095_516])
    }

    @Test func loadsOfTimersDoNothingWithoutAService() throws {
        for run in [try LoadRun(.churn(1000), on: nil), try LoadRun(.pending(1000), on: nil)] {
            #expect(run.usage == .zero)
            run.stop()
        }
    }
}
