import Dispatch
import Foundation
import Glibc
import Synchronization

/// The object that timers refer to weakly.
final class Target: Sendable {
    func tick() { Ticks.note() }
}

/// Counts the ticks of all targets, and takes the time of the first and the last one that are expected.
enum Ticks {
    private static let counter = Atomic(0)
    private static let goal = Atomic(Int.max)
    private static let first = Atomic<UInt64>(0)
    private static let last = Atomic<UInt64>(0)
    private static let finished = DispatchSemaphore(value: 0)

    static var count: Int { counter.load(ordering: .relaxed) }

    static func note() {
        // Read before it counts, so that the last tick, which counts later, cannot be the earlier one.
        if counter.load(ordering: .relaxed) == 0 { first.store(Clock.now(), ordering: .relaxed) }
        let count = counter.add(1, ordering: .acquiringAndReleasing).newValue
        if count == goal.load(ordering: .relaxed) {
            last.store(Clock.now(), ordering: .relaxed)
            finished.signal()
        }
    }

    /// Resets the count, and sets the number of ticks that `wait` waits for. Forgets an end that was not waited for:
    /// that of timers that came due too early, and are scheduled anew.
    static func expect(_ count: Int) {
        goal.store(.max, ordering: .relaxed)
        while finished.wait(timeout: .now()) == .success {}
        counter.store(0, ordering: .relaxed)
        goal.store(count, ordering: .releasing)
    }

    /// Waits for the expected ticks. Returns when the first and the last came.
    static func wait() throws -> (first: UInt64, last: UInt64) {
        let expected = goal.load(ordering: .relaxed)
        if finished.wait(timeout: .now() + 60) == .timedOut {
            throw Program.Failure(description: "only \(count) of \(expected) ticks came within a minute")
        }
        goal.store(.max, ordering: .relaxed)
        return (first.load(ordering: .relaxed), last.load(ordering: .relaxed))
    }

    /// The nanoseconds of one tick of always-due timers whose thread runs by itself.
    static func price() -> Double { price { Clock.sleep(milliseconds: $0) } }

    /// The same for a loop that `run` runs for some milliseconds.
    static func price(running run: (UInt64) throws -> Void) rethrows -> Double {
        try run(50)
        let before = count
        let nanoseconds = try Clock.time { try run(300) }
        return nanoseconds / Double(max(1, count - before))
    }
}

/// Threads that repeat an operation until they are stopped.
final class Workers: Sendable {
    private let isStopped = Atomic(false)
    private let group = DispatchGroup()
    private let total = Atomic(0)
    private let start = Clock.now()

    /// Starts threads. Each makes its own body, which does one operation.
    init(_ threads: Int, _ makeBody: @escaping @Sendable () -> () -> Void) {
        for _ in 0..<threads {
            group.enter()
            Thread.detachNewThread { [self] in
                let body = makeBody()
                var count = 0
                while !isStopped.load(ordering: .relaxed) {
                    body()
                    count += 1
                }
                total.add(count, ordering: .relaxed)
                group.leave()
            }
        }
    }

    /// Stops the threads, then lets `settle` wait for unfinished work. Returns the operations per second of the whole
    /// time.
    func stop(_ settle: () -> Void = {}) -> Double {
        isStopped.store(true, ordering: .relaxed)
        group.wait()
        settle()
        return Double(total.load(ordering: .relaxed)) * 1e9 / Double(Clock.now() - start)
    }
}

/// The kernel's monotonic clock, which times all sides.
enum Clock {
    /// Nanoseconds since the clock's origin.
    static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// The processor time of this process, in nanoseconds.
    static var processorTime: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static func sleep(until instant: UInt64) {
        var time = timespec(tv_sec: Int(instant / 1_000_000_000), tv_nsec: Int(instant % 1_000_000_000))
        while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    static func sleep(milliseconds: UInt64) { sleep(until: now() + milliseconds * 1_000_000) }

    /// The nanoseconds that a body takes.
    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = now()
        try body()
        return Double(now() - start)
    }
}
