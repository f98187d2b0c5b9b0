import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Steps CLOCK_REALTIME for a moment, for the whole machine.
enum WallClock {
    /// Whether tests may step the clock: the environment asks for it, and the system allows it.
    static let mayBeStepped =
        ProcessInfo.processInfo.environment["PRECISE_TIMER_STEP_CLOCK"] == "1" && alone { set(to: offset) }

    /// How to enable these tests.
    static let whatItTakes: Comment = "steps the clock: needs PRECISE_TIMER_STEP_CLOCK=1 and the right to set the clock"

    /// Nanoseconds from a reading of CLOCK_MONOTONIC to one of CLOCK_REALTIME, measured without a stall in between.
    static var offset: Int64 {
        while true {
            let (before, wall, after) = (read(CLOCK_MONOTONIC), read(CLOCK_REALTIME), read(CLOCK_MONOTONIC))
            if after - before < 100_000 { return wall - before }
        }
    }

    /// Sets the clock to this many nanoseconds after CLOCK_MONOTONIC, and checks it. Returns whether the clock
    /// is set.
    static func set(to offset: Int64) -> Bool {
        // A stall between reading and setting would stay in the clock, so this tries again.
        for _ in 0..<100 {
            if !step(to: offset) { return false }
            if abs(Self.offset - offset) < 1_000_000 { return true }
        }
        return false
    }

    /// Sets the clock to about this many nanoseconds after CLOCK_MONOTONIC. Returns whether the system allowed it.
    static func step(to offset: Int64) -> Bool {
        let wall = read(CLOCK_MONOTONIC) + offset
        var time = timespec(tv_sec: Int(wall / 1_000_000_000), tv_nsec: Int(wall % 1_000_000_000))
        return unsafe clock_settime(CLOCK_REALTIME, &time) == 0
    }

    /// Runs a body while no other process does. Two processes that step the clock would each restore the
    /// other's step.
    static func alone<Result>(_ body: () throws -> Result) rethrows -> Result {
        let file = unsafe open("/tmp/precise-timer-steps-the-clock", O_CREAT | O_RDWR | O_CLOEXEC, 0o666)
        defer { close(file) }
        while flock(file, LOCK_EX) != 0, errno == EINTR {}
        return try body()
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Waits until a condition holds. Returns false if it does not soon, because the clock is stepped meanwhile.
func inTime(_ condition: () -> Bool) -> Bool { eventually(within: .seconds(15), condition) }

/// Runs a body while the wall clock is stepped, and afterwards restores the clock from CLOCK_MONOTONIC. Keep the
/// body short: meanwhile the whole machine has another time.
func withClockStepped(by distance: Duration, _ body: () throws -> Void) rethrows {
    try WallClock.alone {
        let offset = WallClock.offset
        let (seconds, attoseconds) = distance.components
        defer {
            let isRestored = WallClock.set(to: offset)
            #expect(isRestored, "the clock is right again")
            #expect(abs(WallClock.offset - offset) < 50_000_000)
        }
        let isStepped = WallClock.set(to: offset + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        #expect(isStepped)
        try body()
    }
}

/// A started alarm with one deadline, which is set again after an early firing, as a service does.
final class SetAlarm: Sendable {
    /// The firings before the deadline, and at or after it.
    let (early, due) = (Count(), Count())
    private let alarm: any TimerAlarm
    /// The deadline. This lock is held while the alarm is set, because two threads must never set it at once.
    private let deadline: Lock<TimerInstant>

    /// Starts a new alarm, with a deadline this long after its current time.
    init(_ mechanism: Mechanism, in delay: Duration) throws {
        alarm = try mechanism.makeAlarm()
        deadline = Lock(alarm.now)
        try alarm.start(onFire: { [weak self] in self?.fired() }, onFailure: { _ in })
        try set(in: delay)
    }

    deinit { alarm.stop() }

    /// Sets the alarm to a deadline this long after its current time.
    func set(in delay: Duration) throws {
        try deadline.withLock { deadline in
            deadline = alarm.now.advanced(by: delay)
            try alarm.set(deadline)
        }
    }

    private func fired() {
        let isDue = deadline.withLock { deadline in
            let isDue = alarm.now >= deadline
            if !isDue { try? alarm.set(deadline) }
            return isDue
        }
        (isDue ? due : early).add(1)
    }
}
