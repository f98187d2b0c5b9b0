import ExampleSupport
import PreciseTimer
import PreciseTimerPatterns

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
        let backoff = PreciseTimer.Backoff.exponential(from: .milliseconds(200), upTo: .seconds(1))
        let answer = try await withRetry(attempts: 5, backoff: backoff, jitter: .equal) { attempt in
            print("retry: attempt", attempt)
            return try await withTimeout(.milliseconds(50)) { try await peer.ask() }
        }
        let times = await peer.requests
        let gaps = zip(times, times.dropFirst()).map { $0.duration(to: $1) }
        print("retry: \(answer) after \(times.count) attempts, with gaps of", gaps)
        check(times.count == 3, "there were \(times.count) attempts instead of three")
        // The first attempt timed out after 50 ms. At least half of each pause is not random: 100 ms, and then 200 ms.
        check(gaps[0] >= .milliseconds(150) && gaps[1] >= .milliseconds(200), "a retry was early")
        try await giveUp()
    }

    /// An error that another attempt cannot mend comes out at once, as itself.
    private static func giveUp() async throws {
        struct WrongPassword: Error {}
        do {
            try await withRetry(
                attempts: 5,
                retryIf: { !($0 is WrongPassword) },
                operation: { attempt in
                    check(attempt == 1, "a wrong password was tried again")
                    throw WrongPassword()
                }
            )
        } catch is WrongPassword {
            print("retry: gave up")
        }
    }
}
