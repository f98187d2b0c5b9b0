import PreciseTimer
import TestSupport
import TimerAlarms

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
        return wait { !ends.all.isEmpty }
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
            try watch.start(onStep: { _, _ in }, onFailure: failures.append)
            pause(.milliseconds(3))
            watch.stop()
        }
        // The watch's thread holds it until the thread ends.
        let ends = wait { released == nil }
        if let failure = failures.all.first { throw failure }
        return ends
    }

    private static func wait(until condition: () -> Bool) -> Bool {
        for _ in 0..<10_000 {
            if condition() { return true }
            pause(.milliseconds(1))
        }
        return false
    }

    private final class Target: Sendable {}
}
