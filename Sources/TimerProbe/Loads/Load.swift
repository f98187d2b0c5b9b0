package import TimerResults

/// Other work on the machine while a row ticks.
package enum Load: Hashable, Sendable {
    /// No other work of ours.
    case idle
    /// A number of threads that spin.
    case cpu(Int)
    /// Handlers that work for some time.
    case handler(Duration)
    /// A number of timers a second that are scheduled and cancelled on the same service.
    case churn(Int)
    /// A number of timers in the same service's queue, an hour and more away.
    case pending(Int)
    /// A thread that allocates, touches and frees memory without pause.
    case memory

    // A greater number is a typing error.
    private static let mostThreads = 256
    private static let mostTimers = 1_000_000
    private static let longestWork = Duration.seconds(10)

    /// Reads a load: `idle`, `cpu`, `cpu:2`, `handler:200us`, `churn:10000`, `pending:100000` or `memory`.
    package static func parse(_ text: String) throws(Problem) -> Load {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? parts[1] : nil
        switch (parts[0], value) {
        case ("idle", nil): return .idle
        case ("memory", nil): return .memory
        case ("cpu", nil): return .cpu(1)
        case ("cpu", let value?): return .cpu(try number(value, atMost: mostThreads, of: "threads"))
        case ("churn", let value?): return .churn(try number(value, atMost: mostTimers, of: "timers a second"))
        case ("pending", let value?): return .pending(try number(value, atMost: mostTimers, of: "timers"))
        case ("handler", let value?): return .handler(try work(value))
        default:
            throw Problem(
                "the loads are idle, cpu, cpu:THREADS, handler:TIME, churn:TIMERS-PER-SECOND, pending:TIMERS and memory"
            )
        }
    }

    private static func number(_ text: Substring, atMost most: Int, of things: String) throws(Problem) -> Int {
        guard let number = Int(text), (1...most).contains(number) else {
            throw Problem("write 1 to \(most) \(things), as a whole number")
        }
        return number
    }

    private static func work(_ text: Substring) throws(Problem) -> Duration {
        guard let work = try? DurationText.parse(String(text)), work > .zero, work <= longestWork else {
            throw Problem("handlers can work for 1ns to 10s, as in handler:200us")
        }
        return work
    }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        switch self {
        case .idle: RowKey.idle
        case .cpu(let threads): "cpu:\(threads)"
        case .handler(let work): "handler:\(DurationText.format(nanoseconds: work.wholeNanoseconds))"
        case .churn(let perSecond): "churn:\(perSecond)"
        case .pending(let timers): "pending:\(timers)"
        case .memory: "memory"
        }
    }
}
