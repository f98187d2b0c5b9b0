internal import Foundation
internal import HostSystem
internal import PreciseTimer

/// The main thread, for handlers that are delivered there.
enum MainThread {
    /// Runs the main queue and the main run loop until an instant.
    static func serve(until end: TimerInstant) {
        while true {
            let now = SystemClock.now(end.clock)
            guard now < end else { return }
            // Without a source the run loop returns at once. The main queue is a source.
            let date = Date(timeIntervalSinceNow: now.duration(to: end) / .seconds(1))
            if !RunLoop.main.run(mode: .default, before: date) {
                SystemClock.sleep(until: min(end, now.advanced(by: .milliseconds(1))))
            }
        }
    }
}
