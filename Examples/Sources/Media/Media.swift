import ExampleSupport
import PreciseTimer
import Synchronization

/// Sends video frames at 30000/1001 per second, the rate of NTSC: 29.97… has no exact period in nanoseconds.
@main
enum Media {
    static func main() async throws {
        let sender = Sender()
        let timer = try PreciseTimer.schedule(.rate(30_000, per: .seconds(1_001), count: 30), target: sender) {
            sender,
            tick in
            sender.send(tick)
        }
        try await wait(for: "the last frame") { timer.state == .ended(.completed) }
        let ledger = sender.ledger
        print("media: \(ledger.ticks) frames sent, \(ledger.missed) skipped, each due at its exact instant")
        check(ledger.ticks == 30, "there were \(ledger.ticks) frames instead of 30")
    }
}

final class Sender: Sendable {
    let ledger = Ledger()
    private let start = Mutex<TimerInstant?>(nil)

    /// Sends the frame of a tick. A late tick skips the frames that were missed, so picture and sound stay together.
    func send(_ tick: PreciseTimer.Tick) {
        ledger.note(tick)
        let start = start.withLock { start in
            start = start ?? tick.deadline.advanced(by: .zero - time(ofFrame: 0))
            return start ?? tick.deadline
        }
        check(tick.deadline == start.advanced(by: time(ofFrame: tick.index)), "frame \(tick.index) has drifted")
    }

    /// The time from the start to a frame, rounded up to the nanosecond. The first one comes a step after the start.
    private func time(ofFrame index: Int) -> Duration {
        .nanoseconds(Int64((index + 1) * 1_001_000_000_000 + 29_999) / 30_000)
    }
}
