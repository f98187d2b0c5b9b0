import Glibc
import PreciseTimer
import Synchronization

/// A thread's allocations, counted by the preloaded library.
enum Allocations {
    /// Whether the inline ticks of a thousand timers allocate nothing on the delivering thread, once each timer has
    /// ticked a few times.
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
            self.number.store(number + 1, ordering: .releasing)
        }
    }
}
