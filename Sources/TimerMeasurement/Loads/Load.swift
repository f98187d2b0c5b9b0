internal import TimerCore

/// What else goes on while a row ticks.
package enum Load: Hashable, Sendable {
    /// Nothing of ours.
    case idle
    /// So many threads that spin.
    case cpu(Int)
    /// Handlers that work for so many nanoseconds.
    case handler(UInt64)
    /// So many timers a second that are scheduled and cancelled on the same service.
    case churn(Int)
    /// So many timers, an hour and more away, in the same service's queue.
    case pending(Int)
    /// A thread that allocates, touches and frees memory without pause.
    case memory

    /// Why a text is no load.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        /// One line for whoever wrote it.
        package let description: String
    }

    /// More of anything is a slip of the keyboard.
    private static let mostThreads = 256
    private static let mostTimers = 1_000_000
    private static let longestWork: UInt64 = 10_000_000_000

    /// Reads a load, as `idle`, `cpu`, `cpu:2`, `handler:200us`, `churn:10000`, `pending:100000` or `memory`.
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
                description: "the loads are idle, cpu, cpu:THREADS, handler:TIME, churn:TIMERS-PER-SECOND, "
                    + "pending:TIMERS and memory"
            )
        }
    }

    private static func number(_ text: Substring, atMost most: Int, of what: String) throws(Problem) -> Int {
        guard let number = Int(text), (1...most).contains(number) else {
            throw Problem(description: "write 1 to \(most) \(what), as a whole number")
        }
        return number
    }

    private static func work(_ text: Substring) throws(Problem) -> UInt64 {
        do throws(DurationText.Problem) {
            let work = try DurationText.parse(String(text)).nanosecondsRoundedUp
            guard work > 0, work <= longestWork else { throw .tooLong }
            return UInt64(work)
        } catch {
            throw Problem(description: "handlers can work for 1ns to 10s, as in handler:200us")
        }
    }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        switch self {
        case .idle: Case.idle
        case .cpu(let threads): "cpu:\(threads)"
        case .handler(let work): "handler:\(DurationText.format(nanoseconds: work))"
        case .churn(let perSecond): "churn:\(perSecond)"
        case .pending(let timers): "pending:\(timers)"
        case .memory: "memory"
        }
    }
}
