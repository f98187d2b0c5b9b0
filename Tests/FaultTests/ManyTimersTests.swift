import Foundation
import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerKernel

/// Many timers, threads and signals. Faults 40 to 42, and 44.
@Suite(.works("the kernel divides the processors among threads"), .timeLimit(.minutes(60))) struct ManyTimersTests {
    typealias Backend = TimerService.Backend

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// Timers that are cancelled long before their deadline leave nothing behind.
    @Test(arguments: Backend.available)
    func manySchedulesAndCancelsLeaveNothingBehind(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let service = try TimerService(backend)
            let target = Log()
            let churn = { (count: Int) in
                for _ in 0..<count {
                    try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
                        $0.note($1)
                    }
                    .cancel()
                }
            }
            try churn(Self.churned / 10)
            let (descriptors, bytes) = (ProcFS.openDescriptors, ProcFS.residentBytes)
            try churn(Self.churned)
            // Heaps keep some pages; a leak of a hundred bytes per timer would be many times as much.
            #expect(ProcFS.residentBytes < bytes + bytes / 20 + 1 << 20)
            // The test runner may open some meanwhile.
            #expect(ProcFS.openDescriptors <= descriptors + 10)
            #expect(service.pendingCount == 0)
            #expect(target.count == 0)
        }
    }
    #endif

    private static let churned = Effort.of(30_000, thorough: 2_000_000, inDebug: 200_000)

    /// Fault 49. They end within four sweeps, a second apart.
    @Test(.enabled(if: Effort.isThorough, Effort.isShort))
    func aMillionTimersOfOneTargetEndWithItAndLeaveSiblingsAlone() async {
        await #expect(processExitsWith: .success) {
            Fault.endIfHung()
            let (service, log, ended) = (try TimerService(.timerFD), Log(), Count())
            var target: Log? = Log()
            if let target {
                for _ in 0..<1_000_000 {
                    try PreciseTimer.schedule(
                        .once(after: .seconds(3_600)),
                        on: service,
                        target: target,
                        onEnd: { _ in ended.add(1) },
                        handler: { $0.note($1) }
                    )
                }
            }
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            let begin = TimerClock.suspending.now
            target = nil
            #expect(eventually(within: .seconds(600)) { ended.value == 1_000_000 })
            let length = begin.duration(to: TimerClock.suspending.now)
            let late = log.ticks.map(\.lateness).max() ?? .zero
            print("a million timers ended \(length) after their target; a sibling was late by \(late) at most")
            let ticks = log.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted)
        }
    }

    @Test(arguments: Backend.available)
    func onlyOneOfSixtyFourCancellingThreadsEndsATimer(backend: Backend) async throws {
        let service = try TimerService(backend)
        let target = Log()
        let timers = try (0..<1_000)
            .map { number in
                // Some timers tick meanwhile.
                try PreciseTimer.schedule(.every(.milliseconds(1 + number % 50)), on: service, target: target) {
                    $0.note($1)
                }
            }
        let ended = Count()
        try await onThreads(64) { _ in
            for _ in 0..<2 { ended.add(timers.filter { $0.cancel() }.count) }
        }
        #expect(ended.value == 1_000)
        #expect(timers.allSatisfy { $0.state == .ended(.cancelled) })
        let count = target.count
        try await Task.sleep(for: .milliseconds(100))
        #expect(target.count <= count + 1, "at most the one that was already running")
        service.shutdown()
    }

    /// Eight threads start, cancel, pause and reschedule timers at random; then each timer is rescheduled once more.
    @Test(arguments: Backend.available)
    func theLastRescheduleOfARaceDecides(backend: Backend) async throws {
        let service = try TimerService(backend)
        let places = (0..<64).map { _ in Box<PreciseTimer>() }
        let ticks = (0..<64).map { _ in Log() }
        try await onThreads(8) { thread in
            var random = SeededGenerator(seed: UInt64(thread))
            for _ in 0..<Effort.of(500, thorough: 2_000) {
                let number = Int.random(in: 0..<64, using: &random)
                let timer = places[number].value
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    places[number].value = try? PreciseTimer.schedule(
                        .every(.microseconds(500)),
                        on: service,
                        target: ticks[number]
                    ) { $0.note($1) }
                    timer?.cancel()
                case 1: timer?.cancel()
                case 2: timer?.pause(keeping: .grid)
                case 3: timer?.resume()
                case 4: timer?.fire()
                default: try? timer?.reschedule(.every(.microseconds(300)))
                }
            }
        }
        // Two threads may have replaced the same timer, and one of the new timers then goes on without a place. So
        // all start again.
        service.shutdown()
        let last = try TimerService(backend)
        let once = try (0..<64)
            .map { number in
                let log = Log()
                let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: last, target: log) { $0.note($1) }
                places[number].value = timer
                return log
            }
        try await onThreads(8) { thread in
            for number in 0..<512 {
                try? places[(number + thread * 8) % 64].value?.reschedule(.every(.microseconds(200)))
            }
        }
        let now = last.now
        for place in places { try place.value?.reschedule(.once(at: now.advanced(by: .milliseconds(5)))) }
        let deadline = now.advanced(by: .milliseconds(5))
        #expect(await soon { last.pendingCount == 0 })
        let lone = once.filter { log in log.ticks.filter { $0.deadline == deadline }.count == 1 }
        #expect(lone.count == 64, "each has the one tick of its last schedule")
    }

    #if compiler(>=6.3)
    /// Signals to the process belong to the host: no thread of the library runs the host's signal handlers.
    @Test(arguments: Backend.available)
    func noLibraryThreadHandlesASignal(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            // SIGALRM cannot limit the time, because it is one of the tested signals.
            Foundation.Thread.detachNewThread {
                sleep(Hang.seconds)
                _exit(99)
            }
            let target = Log()
            let threads = Notes<UInt>()
            try PreciseTimer.schedule(.every(.microseconds(200)), on: backend.shared, target: target) { log, tick in
                if log.count < 1_000 { threads.append(UInt(pthread_self())) }
                log.note(tick)
            }
            #expect(eventually { target.count >= 5 })
            Handled.start([SIGALRM, SIGPROF, SIGUSR1])
            let id = getpid()
            // Two pending signals of one kind merge into one.
            for number in 0..<20_000 where number < 1_000 || Handled.threads.count < 300 {
                kill(id, [SIGALRM, SIGPROF, SIGUSR1][number % 3])
                pause(.milliseconds(1))
            }
            #expect(Handled.threads.count >= 300)
            #expect(Handled.threads.isDisjoint(with: threads.all))
            let ticks = target.ticks
            let flaw = ticks.flaw(from: ticks[0].deadline, every: .microseconds(200))
            #expect(flaw == nil)
            // SIGALRM, SIGPROF and SIGUSR1 are bits 13, 26 and 9 of the masks.
            for mask in ProcFS.blockedSignals(ofThreadsNamed: "timer.") {
                let bits = UInt64(mask, radix: 16) ?? 0
                let wanted: UInt64 = 1 << 13 | 1 << 26 | 1 << 9
                #expect(bits & wanted == wanted)
            }
        }
    }
    #endif
}

/// The threads that ran a signal handler.
private enum Handled {
    private static let capacity = 4_096
    private nonisolated(unsafe) static let places = UnsafeMutablePointer<UInt>.allocate(capacity: capacity)
    private static let next = Atomic(0)

    /// Handles these signals from now on.
    ///
    /// A handler may interrupt `malloc`, or another handler. So it must not allocate or initialize: all that it
    /// touches is made first, and the handler of one signal keeps the others out.
    static func start(_ signals: [Int32]) {
        unsafe places.initialize(repeating: 0, count: capacity)
        next.store(0, ordering: .relaxed)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in Handled.note() }
        action.sa_flags = SA_RESTART
        unsafe sigfillset(&action.sa_mask)
        for number in signals { unsafe sigaction(number, &action, nil) }
    }

    private static func note() {
        let place = next.add(1, ordering: .relaxed).oldValue
        if place < capacity { unsafe places[place] = UInt(pthread_self()) }
    }

    static var threads: NotedThreads {
        let count = min(next.load(ordering: .relaxed), capacity)
        return unsafe NotedThreads(UnsafeBufferPointer(start: places, count: count))
    }
}

/// The number of handled signals, and the threads that handled them.
private struct NotedThreads {
    private let noted: [UInt]

    init(_ places: UnsafeBufferPointer<UInt>) { noted = unsafe Array(places) }

    var count: Int { noted.count }

    func isDisjoint(with others: [UInt]) -> Bool { Set(noted).isDisjoint(with: others) }
}
