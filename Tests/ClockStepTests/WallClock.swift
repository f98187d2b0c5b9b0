import Foundation
import Glibc
import TestSupport
import Testing

/// Stepping CLOCK_REALTIME, for a moment and for the whole machine.
enum WallClock {
    /// Whether tests may do that: the environment asks for it, and the system allows it.
    static let mayBeStepped =
        ProcessInfo.processInfo.environment["PRECISE_TIMER_STEP_CLOCK"] == "1" && alone { set(to: offset) }

    /// How to make them run.
    static let whatItTakes: Comment = "steps the clock: set PRECISE_TIMER_STEP_CLOCK=1, with the right to set the clock"

    /// Nanoseconds from a reading of CLOCK_MONOTONIC to one of CLOCK_REALTIME, taken in a moment without a stall.
    static var offset: Int64 {
        while true {
            let (before, wall, after) = (read(CLOCK_MONOTONIC), read(CLOCK_REALTIME), read(CLOCK_MONOTONIC))
            if after - before < 100_000 { return wall - before }
        }
    }

    /// Sets the clock to so many nanoseconds from CLOCK_MONOTONIC, and sees that it is. Returns whether it is.
    static func set(to offset: Int64) -> Bool {
        // Tried again where a stall came in between, which would stay in the clock.
        for _ in 0..<100 {
            if !step(to: offset) { return false }
            if abs(Self.offset - offset) < 1_000_000 { return true }
        }
        return false
    }

    /// Sets the clock to about so many nanoseconds from CLOCK_MONOTONIC. Returns whether the system allowed it.
    static func step(to offset: Int64) -> Bool {
        let wall = read(CLOCK_MONOTONIC) + offset
        var time = timespec(tv_sec: Int(wall / 1_000_000_000), tv_nsec: Int(wall % 1_000_000_000))
        return unsafe clock_settime(CLOCK_REALTIME, &time) == 0
    }

    /// Runs a body while no other process does: two that step the clock would each restore what the other had made of it.
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

/// Runs a body while the wall clock is stepped, from before its first line to after its last, and then sets the clock
/// right by CLOCK_MONOTONIC. Keep the body short: the whole machine lives in another hour meanwhile.
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

/// Waits until a condition holds; false if it does not within three seconds. No longer: the clock is stepped meanwhile.
func soon(_ condition: () -> Bool) -> Bool {
    for _ in 0..<3_000 {
        if condition() { return true }
        pause(.milliseconds(1))
    }
    return condition()
}
