import PreciseTimer
import TimerAlarms

/// One way of doing a thing: a run returns the nanoseconds of one operation.
struct Side {
    let name: String
    let run: () throws -> Double
}

/// Times sides against each other in interleaved rounds, so that a change of the machine's speed meets all of them.
enum Harness {
    /// Runs each side once in every round, the order turning, after one round that does not count. Prints the median of
    /// each side and its spread; and where the sides do the same, the median of the rounds' ratios to the first one.
    static func compare(_ title: String, rounds: Int = 7, doTheSame: Bool = true, _ sides: [Side]) throws {
        var figures = [[Double]](repeating: [], count: sides.count)
        for round in 0...rounds {
            for turn in sides.indices {
                let number = (turn + round) % sides.count
                let figure = try sides[number].run()
                if round > 0 { figures[number].append(figure) }
            }
        }
        print("\n\(title)")
        for (side, own) in zip(sides, figures) {
            var line = "  \(side.name.padded(to: 34))\(median(own).text.padded(to: 10, onTheLeft: true)) ns"
            line += "   (\(own.reduce(.infinity, min).text) … \(own.reduce(0, max).text))"
            if doTheSame {
                let ratios = zip(own, figures[0]).map { $0 / $1 }
                line += "   × \((median(ratios) * 100).rounded() / 100)"
            }
            print(line)
        }
    }

    /// The nanoseconds that a body takes.
    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = KernelClock.now(.suspending)
        try body()
        return Double(KernelClock.now(.suspending).nanoseconds - start.nanoseconds)
    }

    private static func median(_ figures: [Double]) -> Double {
        let sorted = figures.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

extension Double {
    /// Whole from a hundred on, with one decimal below.
    fileprivate var text: String { self < 100 ? "\((self * 10).rounded() / 10)" : "\(Int(rounded()))" }
}

extension String {
    fileprivate func padded(to width: Int, onTheLeft: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - count))
        return onTheLeft ? padding + self : self + padding
    }
}
