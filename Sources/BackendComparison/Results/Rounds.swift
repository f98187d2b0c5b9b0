internal import Foundation
internal import Synchronization

/// The deadlines of a row, cut into rounds of neighbouring laps, and what another choice of rounds would have shown.
///
/// The lateness of neighbouring deadlines is not independent: one stall makes many late. So intervals do not come from
/// the deadlines but from rounds, by the bootstrap (B. Efron, "Bootstrap methods: another look at the jackknife",
/// 1979) over blocks of neighbours (E. Carlstein, "The use of subseries values for estimating the variance of a general
/// statistic from a stationary sequence", 1986): rounds are drawn with replacement, as many as there are, a thousand
/// times, and the interval leaves out the outermost 1 % of the thousand figures. An interval of order statistics would
/// take each deadline for independent, and is too narrow by far on a machine that stalls. This one is too narrow, too,
/// for a figure that a few stalls make: `Documentation/comparison.md` says how much. If few deadlines were missed, no
/// draw can show many more, so the interval of their share is at least that of a Poisson count. Rows are compared in
/// the same draws, since they shared the machine's moods.
struct Rounds: Sendable {
    /// Deadlines of a round that lie in one bucket.
    private struct Late: Sendable {
        let lateness: Double
        let round: Int
        let count: Double
    }

    // One number for each round.
    private let deadlines: [Double]
    private let missedDeadlines: [Double]
    private let processorTime: [Double]
    private let elapsed: [Double]
    private let threadWakeUps: [Double]
    private let contextSwitches: [Double]
    /// Of the turns whose cost is known, as the three above.
    private let ticksWithCost: [Double]
    /// From the latest.
    private let late: [Late]

    /// The most rounds. More would be shorter than the machine's moods.
    private static let most = 50

    init(_ turns: [Turn]) {
        let laps = max((turns.count + Self.most - 1) / Self.most, 1)
        let rounds = stride(from: 0, to: turns.count, by: laps).map { turns[$0..<min($0 + laps, turns.count)] }
        func sums(_ part: (Turn) -> Double) -> [Double] { rounds.map { $0.reduce(0) { $0 + part($1) } } }
        deadlines = sums { Double($0.lateness.count) }
        missedDeadlines = sums { Double($0.missed) }
        func known(_ cost: Int64?, _ number: (Int64) -> Double) -> Double { cost.map(number) ?? 0 }
        processorTime = sums { known($0.cpu) { Double($0) } }
        elapsed = sums { turn in known(turn.cpu) { _ in Double(turn.elapsed) } }
        threadWakeUps = sums { known($0.wakeUps) { Double($0) } }
        contextSwitches = sums { known($0.switches) { Double($0) } }
        ticksWithCost = sums { turn in known(turn.cpu) { _ in Double(turn.lateness.count) - Double(turn.missed) } }
        late = rounds.enumerated()
            .flatMap { number, turns in
                SparseHistogram(sumOf: turns.map(\.lateness)).buckets
                    .map { Late(lateness: $0.middle, round: number, count: Double($0.count)) }
            }
            .sorted { $0.lateness > $1.lateness }
    }

    // MARK: Figures

    /// Nanoseconds within which a share of the deadlines was served, in percent; nil for too few deadlines. It has no
    /// interval if too few deadlines are later: without the next stall no draw can show it.
    func percentile(_ percent: Double) -> Estimate? {
        guard hasDeadlines(for: percent) else { return nil }
        guard hasRange(of: percent) else { return Estimate(percentile(percent, equally)) }
        return estimate { percentile(percent, $0) }
    }

    /// The deadlines that the interval of a percentile takes.
    static func fewestForRange(of percent: Double) -> UInt64 {
        UInt64(Ratio.fewest) * SparseHistogram.fewest(for: percent)
    }

    private func hasDeadlines(for percent: Double) -> Bool {
        deadlines.reduce(0, +) >= Double(SparseHistogram.fewest(for: percent))
    }

    private func hasRange(of percent: Double) -> Bool {
        deadlines.reduce(0, +) >= Double(Self.fewestForRange(of: percent))
    }

    /// The share of the deadlines that got no tick of their own, in percent. The interval of a few is at least that of
    /// their count.
    var missed: Estimate? {
        let known = quotient(100, missedDeadlines, deadlines)
        let (count, all) = (missedDeadlines.reduce(0, +), deadlines.reduce(0, +))
        guard let known, let interval = known.interval, count < Double(Ratio.fewest) else { return known }
        let ofCount = PoissonCount.interval(of: Int(count))
        let low = min(interval.lowerBound, 100 * ofCount.lowerBound / all)
        let high = max(interval.upperBound, min(100 * ofCount.upperBound / all, 100))
        return Estimate(known.value, low...high)
    }
    /// Processor time per elapsed time, in percent.
    var cpu: Estimate? { quotient(100, processorTime, elapsed) }
    /// The wake-ups of threads per tick.
    var wakeUps: Estimate? { quotient(1, threadWakeUps, ticksWithCost) }
    /// The context switches per tick.
    var switches: Estimate? { quotient(1, contextSwitches, ticksWithCost) }

    private func quotient(_ factor: Double, _ part: [Double], _ whole: [Double]) -> Estimate? {
        let known = estimate { factor * Self.sum(part, $0) / Self.sum(whole, $0) }
        return known.isFinite ? known : nil
    }

    /// A percentile as a multiple of another row's, in the same rounds; nil for too few deadlines. It has no interval
    /// unless both rows have deadlines enough for one.
    ///
    /// Its verdict does not come from the interval, since a few rounds with a stall can make a whole tail. It asks
    /// whether the rounds agree: whether more deadlines of one row are later than a limit between both percentiles, by
    /// the signed-rank test of the differences round by round.
    func ratio(to base: Rounds, _ percent: Double) -> Ratio? {
        guard deadlines.count == base.deadlines.count, hasDeadlines(for: percent), base.hasDeadlines(for: percent)
        else { return nil }
        func logarithm(_ rounds: Rounds, _ weights: [Double]) -> Double {
            log(max(rounds.percentile(percent, weights), 1))
        }
        let (own, other) = (logarithm(self, equally), logarithm(base, equally))
        let known =
            hasRange(of: percent) && base.hasRange(of: percent)
            ? estimate { logarithm(self, $0) - logarithm(base, $0) } : Estimate(own - other)
        let ratio = Estimate(exp(known.value), known.interval.map { exp($0.lowerBound)...exp($0.upperBound) })
        let limit = exp((own + other) / 2)
        let differences = zip(later(than: limit), base.later(than: limit)).map { $0 - $1 }
        guard let test = SignedRank.estimate(differences) else { return nil }
        return Ratio(ratio, verdict: test.low > 0 ? .later : test.high < 0 ? .earlier : .unclear)
    }

    /// The deadlines of each round that were later than some nanoseconds.
    private func later(than limit: Double) -> [Double] {
        var numbers = [Double](repeating: 0, count: deadlines.count)
        for late in late.prefix(while: { $0.lateness > limit }) { numbers[late.round] += late.count }
        return numbers
    }

    // MARK: Draws

    /// Each round once.
    private var equally: [Double] { [Double](repeating: 1, count: deadlines.count) }

    private func percentile(_ percent: Double, _ weights: [Double]) -> Double {
        let all = Self.sum(deadlines, weights)
        // So many deadlines may be later.
        let beyond = all - max(1, (percent.nextDown * all / 100).rounded(.up))
        var sum = 0.0
        for late in late {
            sum += late.count * weights[late.round]
            if sum > beyond { return late.lateness }
        }
        return 0
    }

    private static func sum(_ numbers: [Double], _ weights: [Double]) -> Double {
        var sum = 0.0
        for place in numbers.indices { sum += numbers[place] * weights[place] }
        return sum
    }

    /// A figure of all rounds, with the interval that the draws give it.
    private func estimate(_ figure: ([Double]) -> Double) -> Estimate {
        let whole = figure(equally)
        guard deadlines.count >= Ratio.fewest else { return Estimate(whole) }
        let figures = Draws.of(deadlines.count).map(figure).sorted()
        let left = Int(Double(figures.count) * (1 - SignedRank.confidence) / 2)
        let (low, high) = (figures[left], figures[figures.count - 1 - left])
        guard low.isFinite, high.isFinite else { return Estimate(whole) }
        return Estimate(whole, min(low, whole)...max(high, whole))
    }
}

/// How often each of some rounds is in each draw. Equal for equal numbers of rounds: rows are compared in the same
/// draws, and a file shows the same figures each time.
private enum Draws {
    private static let count = 1000
    private static let made = Mutex<[Int: [[Double]]]>([:])

    static func of(_ rounds: Int) -> [[Double]] {
        made.withLock { made in
            if let known = made[rounds] { return known }
            var random = SplitMix64(seed: 1)
            let draws = (0..<count)
                .map { _ in
                    var weights = [Double](repeating: 0, count: rounds)
                    for _ in 0..<rounds { weights[Int(random.next() % UInt64(rounds))] += 1 }
                    return weights
                }
            made[rounds] = draws
            return draws
        }
    }
}
