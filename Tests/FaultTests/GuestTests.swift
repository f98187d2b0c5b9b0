import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

#if Libevent
import CLibevent
#endif

/// The library as a guest in a process: threads with unusual attributes, a descriptor table that fills up late, and
/// a quick exit.
@Suite(.waits("the process has limits that the kernel keeps"), .timeLimit(.minutes(60))) struct GuestTests {
    #if Libevent
    /// libevent ends a process in its debug mode that switches its locks on after it has seen a base.
    @Test func aServiceStartsBesideAHostThatDebugsLibevent() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            event_enable_debug_mode()
            let host = HostEventBase()
            let service = try TimerService(.libevent)
            #expect(try TickingTimer(on: service).ticks(5))
            withExtendedLifetime(host) {}
        }
    }
    #endif

    /// A thread's processors, policy and nice value; nil if it has ended.
    private static func attributes(ofThread thread: String) -> [String]? {
        let file = "/proc/self/task/\(thread)"
        // From the third field on: the nice value is the 19th, the policy the 41st.
        let fields = ProcFS.fieldsAfterName(file + "/stat").map(String.init)
        let processors = ProcFS.field("Cpus_allowed:", of: file + "/status")
        return processors.flatMap { fields.count > 38 ? [$0, fields[38], fields[16]] : nil }
    }

    /// A backend's threads have the attributes of the process's main thread, whichever thread started them.
    @Test func libraryThreadsDoNotInheritTheStartingThreadsAttributes() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let usual = try #require(Self.attributes(ofThread: "\(getpid())"))
            let (starter, services) = (Box<Int32>(), Box<[TimerService]>())
            Foundation.Thread.detachNewThread {
                starter.value = ProcFS.callingThread
                var parameters = sched_param()
                // SCHED_BATCH, which Glibc does not show to Swift. Without CAP_SYS_NICE the kernel takes no thread back
                // from a nice value.
                var isUnusual = unsafe sched_setscheduler(0, 3, &parameters) == 0
                if ProcFS.maySchedule { isUnusual = isUnusual && nice(19) == 19 }
                isUnusual = isUnusual && ProcFS.pin(ProcFS.callingThread, to: Array(ProcFS.processors.prefix(1)))
                if isUnusual { services.value = try? Backend.available.map { try TimerService($0) } }
                // No other thread gets its number.
                while true { sleep(1_000) }
            }
            #expect(eventually { services.value != nil })
            for service in services.value ?? [] { #expect(try TickingTimer(on: service).ticks(5)) }
            let areUsual = { (prefix: String, count: Int) in
                let others = ProcFS.tasks(named: prefix).filter { Int32($0) != starter.value }
                let known = others.compactMap(Self.attributes)
                return !known.isEmpty && known.allSatisfy { $0.prefix(count) == usual.prefix(count) }
            }
            // A new thread takes a moment. Dispatch chooses its threads' nice values by their quality of service.
            #expect(eventually { areUsual("timer.", 3) && areUsual("", 2) })
        }
    }

    /// Each backend, with each other backend and clock of a later service. The run loop has one clock.
    private static let others: [(Backend, String)] = Backend.available.flatMap { backend in
        Backend.available.filter { $0 != backend }.map { (backend, "backend=\($0.rawValue)") }
            + backend.clocks.filter { $0 != .suspending }.map { (backend, "clock=\($0.rawValue)") }
    }
    /// May hold up Dispatch's event loop before it waits for its first timer.
    private static let delay = Tools.canTrace ? Probe.Means.strace("epoll_ctl:delay_exit=20000") : .none

    /// A service starts while descriptors are available, and its first timer comes when all are taken. Each backend
    /// needs descriptors of its own, and a service on another clock may.
    @Test(arguments: others)
    func withoutDescriptorsAServiceThatRunsTicksAndAnotherThrowsOrTicks(backend: Backend, other: String) async throws {
        let steps = ["service", "fill", "schedule=1x10000", "ticks=5", other, "schedule=2x10000", "ticks-or-ends=20"]
        let later = ["unfill", "schedule=1x10000", "ticks=5"]
        let means = backend == .dispatch && other.hasPrefix("clock") ? Self.delay : .none
        let run = try await Probe.run(backend, steps + later, under: means)
        #expect(run.silence(ticks: 5) == nil && run.worksInTheEnd, "\(run)")
        let first = try #require(run.report?.timers.first)
        #expect(first.ends.isEmpty && first.accounted >= 20, "the running one keeps its grid: \(run)")
        let isRefused = run.report?.step("schedule=2")?.refusal?.code == "refused by the system"
        #expect(isRefused || other.hasPrefix("clock"), "\(run)")
    }

    /// A limitation: the remaining threads are the library's, which take only the signal that no thread can block.
    @Test func aProcessWhoseMainThreadHasEndedLivesWithItsServiceAndTakesNoSignalButTheLast() async throws {
        let run = try await Probe.run(.timerFD, ["schedule=1x10000", "ticks=3", "leave-main"])
        #expect(run.outcome.signal == SIGKILL, "\(run)")
    }

    @Test(arguments: Backend.available)
    func manyProcessesWithTickingTimersExitWithTheirCode(backend: Backend) async throws {
        for _ in 0..<Effort.of(5, thorough: 20) {
            let run = try await Probe.run(backend, ["schedule=20x1000", "ticks=3", "exit=7"])
            #expect(run.outcome.code == 7, "\(run)")
        }
    }
}

/// What the process sees of the library: complaints on standard error, idleness, memory, and signals.
@Suite(.waits("processes say something, or are idle"), .timeLimit(.minutes(60))) struct ProcessTests {
    /// Unless a variable says otherwise, it complains in the system's log.
    @Test func libdispatchComplainsOfNoSource() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            unsafe setenv("LIBDISPATCH_LOG", "stderr", 1)
            let timer = try TickingTimer(.every(.milliseconds(1)), on: try TimerService(.dispatch))
            #expect(timer.ticks(5))
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("libdispatch") == false)
    }

    /// The library starts its threads with all signals blocked.
    @Test func theCallersSignalsStayUnblocked() async {
        await #expect(processExitsWith: .signal(SIGUSR1)) {
            Child.unblockSignals()
            for backend in Backend.available { _ = try TimerService(backend) }
            raise(SIGUSR1)
        }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(.works("the process keeps or returns memory"), arguments: Backend.available)
    func manyTimersCostNoMoreThreadsAndDescriptorsThanOneAndLeaveNoMemory(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            DispatchDescriptors.open()
            let (service, many) = (backend.shared, Effort.of(1_000, thorough: 10_000))
            #expect(try TickingTimer(.every(.milliseconds(5)), on: service).ticks(3))
            let (descriptors, threads) = (ProcFS.openDescriptors, ProcFS.threads(named: "").count)
            var bytes = Int.max / 2
            for round in 1...30 {
                let far = try (1..<many).map { _ in try TickingTimer(.once(after: .seconds(3_600)), on: service) }
                let near = try (1..<many).map { _ in try TickingTimer(.once(after: .milliseconds(5)), on: service) }
                #expect(eventually { near.allSatisfy { $0.ends.all == [.completed] } })
                for timer in far { timer.timer.cancel() }
                // Dispatch and the test runner may keep a few more workers and descriptors.
                #expect(eventually { ProcFS.threads(named: "").count <= threads + 10 })
                #expect(eventually { ProcFS.openDescriptors <= descriptors + 10 })
                // Heaps keep some pages; a leak of a hundred bytes per timer would be more than twice as much.
                #expect(ProcFS.residentBytes < bytes + 2_000 * many)
                if round == 3 { bytes = ProcFS.residentBytes }
            }
        }
    }

    @Test(arguments: Backend.available)
    func aFaultInAHandlerEndsTheProcessWithItsSignal(backend: Backend) async {
        await #expect(processExitsWith: .signal(SIGILL)) { [backend] in
            endIfHung()
            let timer = try TickingTimer(on: try TimerService(backend)) { _ in raise(SIGILL) }
            withExtendedLifetime(timer) { while true { sleep(1) } }
        }
    }

    /// As one that is frozen or throttled: of each twentieth of a second it has two milliseconds.
    @Test(arguments: Backend.available)
    func aProcessThatHardlyRunsLosesNoDeadline(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            let timer = try TickingTimer(.every(.milliseconds(10)), on: try TimerService(backend))
            #expect(timer.ticks(3))
            let code = Fork.outcome {
                let goesOn = (0..<10)
                    .allSatisfy { _ in
                        usleep(2_000)
                        let isStopped = kill(getppid(), SIGSTOP) == 0
                        usleep(48_000)
                        return kill(getppid(), SIGCONT) == 0 && isStopped
                    }
                return goesOn ? 0 : 1
            }
            #expect(code == 0 && timer.ticks(5))
            #expect(timer.log.ticks.flaw(every: .milliseconds(10)) == nil && !timer.hasEnded)
            #expect(timer.accounted > timer.log.count)
        }
    }

    @Test(arguments: [DeliveryKind.inline, .serialQueue, .actor])
    func aHandlerThatNeverReturnsStopsOnlyItsOwnTimer(kind: DeliveryKind) async {
        await #expect(processExitsWith: .exitCode(7)) { [kind] in
            endIfHung()
            let (place, stuck, service) = (Place(kind), Log(), try TimerService(.timerFD))
            let timer = try place.schedule(.every(.milliseconds(1)), on: service, target: stuck) { tick in
                stuck.note(tick)
                while true { sleep(1_000) }
            }
            #expect(eventually { stuck.count == 1 })
            // Another timer of the service goes on, unless the handler occupies the service's own thread.
            let (other, onOtherService) = (try TickingTimer(on: service), try TickingTimer(on: TimerService(.timerFD)))
            #expect(kind == .inline || other.ticks(20))
            #expect(onOtherService.ticks(20))
            #expect([timer.cancel(), other.timer.cancel()] == [true, true])
            #expect(timer.state == .ended(.cancelled) && stuck.count == 1)
            service.shutdown()
            withExtendedLifetime(place) { exit(7) }
        }
    }

    @Test(arguments: Backend.available)
    func anIdleServiceUsesHardlyAnyProcessorTime(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            endIfHung()
            let once = try TickingTimer(.once(after: .zero), on: backend.shared)
            let far = try TickingTimer(.once(after: .seconds(3_600)), on: backend.shared)
            #expect(eventually { once.log.count == 1 })
            // A whole second is idle: its five fifths in a row. Before it, the test process may still be starting.
            var quiet = 0
            for _ in 0..<100 where quiet < 5 {
                let before = Reading.cpuSeconds
                pause(.milliseconds(200))
                quiet = Reading.cpuSeconds - before < 0.02 ? quiet + 1 : 0
            }
            #expect(quiet == 5)
            #expect(far.timer.state == .scheduled)
        }
    }
    #endif
}

/// Workers of Dispatch that a tick on its way makes.
@Suite(.waits("Dispatch makes threads with the settings of their maker")) struct OrdinaryThreadTests {
    /// What a worker inherits from the thread that makes it: its processors and its timer slack.
    private static var inherited: [[Int]] { [ProcFS.processors, [ProcFS.timerSlack(of: ProcFS.callingThread) ?? 0]] }

    private actor Model {
        func note(_ seen: Notes<[[Int]]>) { seen.append(OrdinaryThreadTests.inherited) }
    }

    private static let processor = ProcFS.processors.first ?? 0

    @Test(.enabled(if: ProcFS.processors.count > 1, "needs two processors"))
    func workersThatAPinnedServiceMakesHaveTheProcesssProcessorsAndSlack() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let usual = Self.inherited
            let options = TimerService.ThreadOptions(affinity: [Self.processor])
            let service = try TimerService(.timerFD, thread: options)
            #expect(service.grant.refusals == [])
            let (seen, own, target, model) = (Notes<[[Int]]>(), Notes<[[Int]]>(), Log(), Model())
            // Each blocks a worker for a while, so that the next tick needs a new one.
            for number in 0..<6 {
                let once = PreciseTimer.Schedule.once(after: .milliseconds(number))
                _ = try Place(.serialQueue)
                    .schedule(once, on: service, target: target) { _ in
                        seen.append(OrdinaryThreadTests.inherited)
                        pause(.milliseconds(20))
                    }
            }
            try PreciseTimer.schedule(.once(after: .milliseconds(7)), on: service, target: model) { model, _ in
                model.note(seen)
            }
            #expect(eventually { seen.all.count == 7 })
            #expect(Set(seen.all) == [usual])
            // After the hops, the service's thread is what was asked for.
            let inline = try TickingTimer(.once(after: .zero), on: service) { _ in own.append(Self.inherited) }
            #expect(eventually { inline.ends.all == [.completed] })
            #expect(own.all == [[[Self.processor], [1]]])
        }
    }
}

#if !DEBUG
/// The memory cost of a tick. A debug build allocates, because it notes a warning for each handler.
@Suite(.waits("malloc counts the allocations of a tick"), .timeLimit(.minutes(60))) struct AllocationTests {
    /// All ticks come on one thread, whose allocations are counted. One of the handlers is slow, which is noted.
    @Test(.canRefuse, arguments: [Backend.timerFD, .hybrid], [[], ["statistics"]])
    func inlineTicksAllocateNothing(backend: Backend, steps: [String]) async throws {
        let life = ["service"] + steps + ["no-allocations=5000"]
        let run = try await Probe.run(backend, life, under: .preload())
        #expect(run.isMet("no-allocations"), "\(run)")
    }
}
#endif
