import BackendComparison
import ExampleSupport
import Foundation
import PreciseTimer

/// Measures how late three backends tick on this machine, chooses one for its work, and keeps the measurement: a
/// file's name as an argument makes it a file that `compare-backends show` reads.
@main
enum Comparing {
    static func main() async throws {
        let backends: [TimerService.Backend] = [.timerFD, .hybrid, .dispatch]
        let comparison = try await compareBackends(backends, period: .milliseconds(1), for: .seconds(3))
        print(comparison)
        check(comparison.rows.map(\.backend) == backends, "rows are missing: \(comparison.warnings)")
        for row in comparison.rows {
            check(row.deadlines > 0 && row.p50 <= row.p99, "the row of \(row.backend) makes no sense")
        }

        // The first that is early enough for so little of a core. A busy machine may have none.
        let backend = comparison.first { $0.p99 < .microseconds(200) && $0.cpu < 0.02 } ?? .timerFD
        let service = try TimerService(backend)
        let ledger = Ledger()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(5), count: 20), on: service, target: ledger) {
            ledger,
            tick in
            ledger.note(tick)
        }
        try await wait(for: "the last tick") { timer.state == .ended(.completed) }
        print("comparing: chose \(backend), which ticked \(ledger.ticks) times and missed \(ledger.missed) deadlines")
        check(ledger.ticks == 20, "there were \(ledger.ticks) ticks instead of 20")

        if let path = CommandLine.arguments.dropFirst().first {
            try JSONEncoder().encode(comparison).write(to: URL(fileURLWithPath: path))
        }
    }
}
