#if Instrument && DEBUG
import Foundation
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

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
