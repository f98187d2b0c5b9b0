import Synchronization
import TimerKernel

/// The counts of a soak, and the broken promises; for any thread.
final class Tally: Sendable {
    let scheduled = Atomic<Int>(0)
    let refused = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    let ticks = Atomic<Int>(0)
    let extraTicks = Atomic<Int>(0)
    let missed = Atomic<Int>(0)
    /// The numbers of handlers that have begun and returned.
    let begun = Atomic<Int>(0)
    let returned = Atomic<Int>(0)
    /// The numbers of existing objects.
    let targets = Atomic<Int>(0)
    let captures = Atomic<Int>(0)
    let operations = Atomic<Int>(0)
    let servicesMade = Atomic<Int>(0)
    let consumersBegun = Atomic<Int>(0)
    let consumersEnded = Atomic<Int>(0)
    /// The number of time-outs, retries, triggers and handlers that await.
    let calls = Atomic<Int>(0)

    private struct Findings {
        var reasons: [String: Int] = [:]
        var violations: [String: Int] = [:]
        /// The first example of each broken promise.
        var examples: [String: String] = [:]
    }

    private let findings = Lock(Findings())

    /// Notes a broken promise: its name, and an observation.
    func violate(_ promise: String, _ detail: String) {
        findings.withLock { findings in
            findings.violations[promise, default: 0] += 1
            if findings.examples[promise] == nil { findings.examples[promise] = detail }
        }
    }

    func noteEnd(_ reason: String) {
        ended.add(1)
        findings.withLock { $0.reasons[reason, default: 0] += 1 }
    }

    /// One line for each broken promise.
    var violations: [String] {
        findings.withLock { findings in
            findings.violations.sorted { $0.key < $1.key }
                .map { "\($0.key) (\($0.value) times), as in: \(findings.examples[$0.key] ?? "")" }
        }
    }

    /// How often `onEnd` reported each reason.
    var reasons: [(String, Int)] {
        findings.withLock { $0.reasons.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}

extension Atomic where Value == Int {
    func add(_ difference: Int) { add(difference, ordering: .relaxed) }

    var value: Int { load(ordering: .relaxed) }
}
