import Foundation
import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import TimerKernel

/// Steps that use a service in other ways than periodic timers do.
enum ServiceSteps {
    /// Thread options that ask the system for something; "" for nothing. Those that need a right are only preferred.
    static func options(_ demand: String) -> TimerService.ThreadOptions {
        var options = TimerService.ThreadOptions(demand: .required)
        if demand == "" { return options }
        if demand == "defaults" { return .init(timerSlack: .nanoseconds(1), slice: .microseconds(100)) }
        (options.affinity, options.timerSlack) = ([0], .microseconds(2))
        if demand == "required" { return options }
        (options.policy, options.locksMemory, options.demand) = (.fifo(priority: 1), true, .preferred)
        // Limits no processor.
        options.idleLatency = .seconds(1)
        return options
    }

    /// Whether a timer with a released target and a far deadline ends.
    static func endsTimerOfReleasedTarget(on service: TimerService) throws(TimerError) -> Bool {
        let (ends, far) = (Count(), PreciseTimer.Schedule.once(after: .seconds(3_600)))
        try PreciseTimer.schedule(far, on: service, target: Thing(), onEnd: { _ in ends.add(1) }, handler: { _, _ in })
        return eventually { ends.value > 0 }
    }

    /// Whether a watch of the wall clock ends when it is told to. Throws the watch's own error.
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

    /// Whether a timer of Foundation's own, of some milliseconds, ticks within a second. Its loop has a thread of its
    /// own, because it may never return.
    static func foundationTicks() -> Bool {
        let ticks = Count()
        Foundation.Thread.detachNewThread {
            _ = Timer.scheduledTimer(withTimeInterval: 0.005, repeats: true) { _ in ticks.add(1) }
            RunLoop.current.run()
        }
        return eventually(within: .seconds(1)) { ticks.value > 3 }
    }

    /// Whether the thread of a service with SCHED_DEADLINE never yields the processor, which would give the rest of its
    /// period away, while two threads contend for its lock. False, too, if the preloaded library does not count that,
    /// or the system refuses the policy.
    static func neverYields() throws(TimerError) -> Bool {
        let (runtime, period) = (Duration.milliseconds(100), Duration.milliseconds(500))
        let options = TimerService.ThreadOptions(policy: .deadline(runtime: runtime, deadline: period, period: period))
        let service = try TimerService(.timerFD, thread: options)
        guard RefusedCalls.count("yield_count") == 0, service.grant.refusals.isEmpty else { return false }
        let log = Log()
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        let end = Reading.seconds + 2
        try? onThreads(2) { _ in
            while Reading.seconds < end {
                _ = try? PreciseTimer.schedule(.once(after: .seconds(60)), on: service, target: log) { _, _ in }
                    .cancel()
            }
        }
        return RefusedCalls.count("yield_count") == 0 && log.count > 0
    }
}

/// A thread's allocations, counted by the preloaded library.
enum Allocations {
    /// Whether the inline ticks of a thousand timers allocate nothing on the delivering thread, once each timer has
    /// ticked a few times. Some handlers are slow.
    static func areNone(_ service: TimerService, ticks: Int) throws(TimerError) -> Bool {
        // The library is loaded and counts. The compiler would remove an allocation whose result is not used.
        let before = count
        if let directory = unsafe opendir("/") { unsafe closedir(directory) }
        guard let before, let after = count, after > before else { return false }
        let target = Target()
        for _ in 0..<1_000 {
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { $0.tick($1) }
            timer.collectsStatistics = service.collectsStatistics
        }
        return target.allocations(skipping: 10_000, counting: ticks) == 0
    }

    /// Found once, because that allocates.
    private static let counter = function("allocation_count", as: (@convention(c) () -> Int).self)
    private static var count: Int? { counter?() }

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

        func tick(_: PreciseTimer.Tick) {
            let number = number.load(ordering: .relaxed)
            let (start, end) = (start.load(ordering: .relaxed), end.load(ordering: .relaxed))
            if number == start { countAtStart.store(Allocations.count ?? 0, ordering: .relaxed) }
            if number == end { countAtEnd.store(Allocations.count ?? -1, ordering: .relaxed) }
            // Longer than a period.
            let rest = number > start && number.isMultiple(of: 5_000) ? Reading.seconds + 0.002 : 0
            while Reading.seconds < rest {}
            self.number.store(number + 1, ordering: .releasing)
        }
    }
}
