import Glibc
import PreciseTimer
import Synchronization

/// The allocations of a thread, as the preloaded library counts them.
enum Allocations {
    /// Whether the ticks of a thousand timers that are delivered inline allocate nothing on the thread that delivers them,
    /// once each has had some.
    static func areNone(_ service: TimerService, ticks: Int) throws(TimerError) -> Bool {
        guard count != nil else { return false }
        let (seen, first, last) = (Atomic(0), Atomic(0), Atomic(0))
        let target = Target { number in
            if number == 10_000 { first.store(count ?? -1, ordering: .relaxed) }
            if number == 10_000 + ticks { last.store(count ?? -1, ordering: .relaxed) }
            seen.add(1, ordering: .releasing)
        }
        for _ in 0..<1_000 {
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { target, _ in target.tick() }
        }
        while seen.load(ordering: .acquiring) < 10_001 + ticks { usleep(1_000) }
        return first.load(ordering: .relaxed) == last.load(ordering: .relaxed)
    }

    private static var count: Int? {
        guard let address = unsafe dlsym(nil, "allocation_count") else { return nil }
        return unsafe unsafeBitCast(address, to: (@convention(c) () -> Int).self)()
    }

    private final class Target: Sendable {
        private let number = Atomic(0)
        private let body: @Sendable (Int) -> Void

        init(_ body: @escaping @Sendable (Int) -> Void) { self.body = body }

        func tick() { body(number.add(1, ordering: .relaxed).oldValue) }
    }
}
