import Synchronization
import TimerAlarms

/// What a soak counts, and what it finds wrong; from any thread.
final class Tally: Sendable {
    let scheduled = Atomic<Int>(0)
    let refused = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    let ticks = Atomic<Int>(0)
    let extraTicks = Atomic<Int>(0)
    let missed = Atomic<Int>(0)
    /// Handlers that have begun and returned.
    let begun = Atomic<Int>(0)
    let returned = Atomic<Int>(0)
    /// Objects that exist.
    let targets = Atomic<Int>(0)
    let captures = Atomic<Int>(0)
    let operations = Atomic<Int>(0)
    let servicesMade = Atomic<Int>(0)
    let consumersBegun = Atomic<Int>(0)
    let consumersEnded = Atomic<Int>(0)

    private struct Findings {
        var reasons: [String: Int] = [:]
        var violations: [String: Int] = [:]
        /// The first example of each.
        var examples: [String: String] = [:]
    }

    private let findings = Lock(Findings())

    /// Notes a broken promise: its name, and what was seen.
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

    /// Each broken promise in a line.
    var violations: [String] {
        findings.withLock { findings in
            findings.violations.sorted { $0.key < $1.key }
                .map { "\($0.key) (\($0.value) times), as in: \(findings.examples[$0.key] ?? "")" }
        }
    }

    /// How often each reason for an end was heard.
    var reasons: [(String, Int)] {
        findings.withLock { $0.reasons.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}

extension Atomic where Value == Int {
    func add(_ difference: Int) { add(difference, ordering: .relaxed) }

    var value: Int { load(ordering: .relaxed) }
}
