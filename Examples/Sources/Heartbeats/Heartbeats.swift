import ExampleSupport
import PreciseTimer
import Synchronization

/// A peer that is sent a heartbeat now and then.
final class Peer: Sendable {
    let ledger = Ledger()
    private let first = Mutex<TimerInstant?>(nil)

    var firstBeat: TimerInstant? { first.withLock { $0 } }

    func beat(_ tick: PreciseTimer.Tick) {
        ledger.note(tick)
        first.withLock { $0 = $0 ?? tick.deadline }
    }
}

/// A thousand heartbeats that do not beat together, and that end with their peers.
@main
enum Heartbeats {
    static func main() async throws {
        let service = try TimerService(.timerFD)
        var peers = (0..<1_000).map { _ in Peer() }
        for peer in peers {
            let schedule = PreciseTimer.Schedule.every(.milliseconds(200), spread: .milliseconds(200))
            try PreciseTimer.schedule(schedule, on: service, label: "heartbeat", target: peer) { $0.beat($1) }
        }
        try await wait(for: "three beats of each peer") { peers.allSatisfy { $0.ledger.deadlines >= 3 } }

        let slots = Dictionary(grouping: peers.compactMap(\.firstBeat)) { $0.nanoseconds / 10_000_000 }
        let busiest = slots.values.map(\.count).max() ?? 0
        let beats = peers.map(\.ledger.deadlines).reduce(0, +)
        print("heartbeats: \(peers.count) peers, \(beats) beats; at most \(busiest) peers began within 10 ms")
        check(busiest < peers.count / 4, "the heartbeats beat together")

        peers = []
        try await wait(for: "the timers of lost peers to end") { service.activeTimers.isEmpty }
        service.shutdown()
    }
}
