import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import TimerKernel

/// Steps that use a service in other ways than periodic timers do.
enum ServiceSteps {
    /// Thread options that ask the system for something. Only options that need no privilege are required.
    static func options(isRequired: Bool) -> TimerService.ThreadOptions {
        var options = TimerService.ThreadOptions(affinity: [0], timerSlack: .microseconds(2), demand: .required)
        if !isRequired {
            options.policy = .fifo(priority: 1)
            options.locksMemory = true
            // Limits no processor.
            options.idleLatency = .seconds(1)
            options.demand = .preferred
        }
        return options
    }

    /// Whether a timer with a released target and a far deadline ends.
    static func endsTimerOfReleasedTarget(on service: TimerService) throws(TimerError) -> Bool {
        let ends = Notes<String>()
        try PreciseTimer.schedule(
            .once(after: .seconds(3_600)),
            on: service,
            target: Target(),
            onEnd: { ends.append("\($0)") },
            handler: { _, _ in }
        )
        return eventually { !ends.all.isEmpty }
    }

    /// Whether a watch of the wall clock ends when it is told to.
    ///
    /// - Throws: the watch's own error.
    static func watchesWallClock() throws(TimerError) -> Bool {
        let failures = Notes<TimerError>()
        weak var released: WallClockWatch?
        do {
            let watch = try WallClockWatch()
            released = watch
            try watch.start(onCheck: { _ in }, onFailure: failures.append)
            pause(.milliseconds(3))
            watch.stop()
        }
        // The watch's thread holds it until the thread ends.
        let ends = eventually { released == nil }
        if let failure = failures.all.first { throw failure }
        return ends
    }

    private final class Target: Sendable {}
}

/// A service with SCHED_DEADLINE whose lock other threads contend for.
enum DeadlineService {
    /// Whether its thread never yields the processor, which would give the rest of its period away. False, too, if the
    /// preloaded library does not count that, or the system refuses the policy.
    static func neverYields() throws(TimerError) -> Bool {
        let policy = TimerService.ThreadOptions.Policy.deadline(
            runtime: .milliseconds(100),
            deadline: .milliseconds(500),
            period: .milliseconds(500)
        )
        let service = try TimerService(.timerFD, thread: TimerService.ThreadOptions(policy: policy))
        guard RefusedCalls.yields == 0, service.grant.refusals.isEmpty else { return false }
        let (log, far) = (Log(), Log())
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        for _ in 0..<2 {
            var thread = pthread_t()
            let churn = unsafe Unmanaged.passRetained(Churn(service, far)).toOpaque()
            unsafe pthread_create(&thread, nil, { unsafe Churn.run($0) }, churn)
        }
        let end = Reading.seconds + 2
        while Reading.seconds < end { pause(.milliseconds(10)) }
        return RefusedCalls.yields == 0 && log.count > 0
    }

    /// Schedules and cancels timers for two seconds.
    private final class Churn {
        private let service: TimerService
        private let target: Log

        init(_ service: TimerService, _ target: Log) {
            self.service = service
            self.target = target
        }

        static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let argument = unsafe argument else { return nil }
            let churn = unsafe Unmanaged<Churn>.fromOpaque(argument).takeRetainedValue()
            let end = Reading.seconds + 2
            while Reading.seconds < end {
                let timer = try? PreciseTimer.schedule(
                    .once(after: .seconds(60)),
                    on: churn.service,
                    target: churn.target,
                    handler: { $0.note($1) }
                )
                timer?.cancel()
            }
            return nil
        }
    }
}

/// A thread's allocations, counted by the preloaded library.
enum Allocations {
    /// Whether the inline ticks of a thousand timers allocate nothing on the delivering thread, once each timer has
    /// ticked a few times. Some handlers are slow.
    static func areNone(_ service: TimerService, ticks: Int) throws(TimerError) -> Bool {
        // Checks that the library is loaded and counts. (The compiler removes an allocation whose result is not
        // used.)
        guard let before = count else { return false }
        if let directory = unsafe opendir("/") { unsafe closedir(directory) }
        guard let after = count, after > before else { return false }
        let target = Target()
        for _ in 0..<1_000 {
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { target, _ in
                target.tick()
            }
            timer.collectsStatistics = service.collectsStatistics
        }
        return target.allocations(skipping: 10_000, counting: ticks) == 0
    }

    private static var count: Int? {
        guard let address = unsafe dlsym(nil, "allocation_count") else { return nil }
        return unsafe unsafeBitCast(address, to: (@convention(c) () -> Int).self)()
    }

    /// Counts the allocations between two of the timers' ticks.
    private final class Target: Sendable {
        private let start = Atomic(Int.max)
        private let end = Atomic(Int.max)
        private let number = Atomic(0)
        private let countAtStart = Atomic(0)
        private let countAtEnd = Atomic(0)

        /// The number of allocations during some ticks, after some others from now on. Waits for them.
        func allocations(skipping some: Int, counting others: Int) -> Int {
            let first = number.load(ordering: .relaxed) + some
            end.store(first + others, ordering: .relaxed)
            start.store(first, ordering: .relaxed)
            while number.load(ordering: .acquiring) <= first + others { usleep(1_000) }
            return countAtEnd.load(ordering: .relaxed) - countAtStart.load(ordering: .relaxed)
        }

        func tick() {
            let number = number.load(ordering: .relaxed)
            let (start, end) = (start.load(ordering: .relaxed), end.load(ordering: .relaxed))
            if number == start { countAtStart.store(Allocations.count ?? 0, ordering: .relaxed) }
            if number == end { countAtEnd.store(Allocations.count ?? -1, ordering: .relaxed) }
            if number > start, number.isMultiple(of: 5_000) { takeLongerThanAPeriod() }
            self.number.store(number + 1, ordering: .releasing)
        }

        private func takeLongerThanAPeriod() {
            let end = Reading.seconds + 0.002
            while Reading.seconds < end {}
        }
    }
}
