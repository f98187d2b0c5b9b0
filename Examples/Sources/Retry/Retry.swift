import ExampleSupport
import PreciseTimer

/// A peer whose first answer never comes, whose second one is an error, and whose third one is good.
actor Peer {
    private(set) var requests: [TimerInstant] = []

    struct Busy: Error {}

    func ask() async throws -> String {
        requests.append(TimerService.default.now)
        switch requests.count {
        case 1: try await Task.sleep(for: .seconds(3_600))
        case 2: throw Busy()
        default: break
        }
        return "the answer"
    }
}

/// Asks a peer until it answers: each attempt has a time-out, and each pause is longer than the one before. The pauses
/// are partly random, so that many clients do not come back together.
@main
enum Retry {
    static func main() async throws {
        let peer = Peer()
        let answer = try await retry(first: .milliseconds(100), attempts: 5) {
            try await withTimeout(.milliseconds(50)) { try await peer.ask() }
        }
        let times = await peer.requests
        let gaps = zip(times, times.dropFirst()).map { $0.duration(to: $1) }
        print("retry: \(answer) after \(times.count) attempts, with gaps of", gaps)
        check(times.count == 3, "there were \(times.count) attempts instead of three")
        // The first attempt timed out after 50 ms. The pauses are at least 100 ms, and then 200 ms.
        check(gaps[0] >= .milliseconds(150) && gaps[1] >= .milliseconds(200), "a retry was early")
    }

    private static func retry<Value>(
        first delay: Duration,
        attempts: Int,
        _ operation: @Sendable () async throws -> Value
    ) async throws -> Value {
        var delay = delay
        for _ in 1..<attempts {
            do { return try await operation() } catch { print("retry:", error) }
            // Pauses for the delay, and for up to as long again.
            for try await _ in PreciseTimer.ticks(.once(after: delay, spread: delay)) {}
            try Task.checkCancellation()
            delay *= 2
        }
        return try await operation()
    }
}
