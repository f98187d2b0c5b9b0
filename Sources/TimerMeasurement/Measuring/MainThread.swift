internal import Foundation
internal import TimerAlarms
internal import TimerCore

/// The main thread, where handlers run that are delivered there.
enum MainThread {
    /// Runs what comes to the main queue and the main run loop, and nothing else, until an instant has come.
    static func serve(until end: TimerInstant) {
        repeat {
            let now = KernelClock.now(end.clock)
            guard now < end else { return }
            let left = Double(now.duration(to: end).nanosecondsRoundedUp) / 1_000_000_000
            // Without a source the run loop returns at once; the main queue is one.
            if !RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: left)) {
                KernelClock.sleep(until: min(end, now.moved(by: 1_000_000)))
            }
        } while true
    }
}
