package import TimerResults

/// The main result under one load, in words: which backend is earliest, how late it is, at what price, and how sure
/// the verdict is.
package struct Headline: Sendable {
    private let report: Report
    private let load: String
    /// The backends that ticked, from early to late.
    private let backends: [RowReport]
    /// The backends that the recommendation chooses, from early to late.
    private let best: [RowReport]
    private let recommendation: Recommendation
    private let hasSilent: Bool

    /// - Parameter report: a report of one load.
    package init(_ report: Report) {
        let silent = Set(report.rows.filter { $0.ticks == 0 }.map(\.key))
        self.report = silent.isEmpty ? report : report.keeping { !silent.contains($0) }
        hasSilent = silent.contains { $0.kind == .backend }
        load = report.loads.first ?? RowKey.idle
        backends = self.report.sortedRows.filter { $0.key.kind == .backend }
        recommendation = Recommendation(.init(), from: self.report)
        let names = recommendation.choices.map(\.row)
        best = backends.filter { names.contains($0.key.row) }
    }

    /// The names of the backends that the recommendation chooses; empty if there is no choice.
    package var choices: Set<String> { backends.count > 1 ? Set(best.map(\.key.row)) : [] }

    /// One sentence without its full stop.
    package var sentence: String {
        let words = report.rows.isEmpty ? "no tick was measured" : verdict + figures
        let whole = load == RowKey.idle ? words : "under \(load), \(words)"
        // The name of a row stays as a rule needs it.
        let isName = load == RowKey.idle && backends.contains { whole.hasPrefix($0.key.row) }
        return isName ? whole : whole.prefix(1).uppercased() + whole.dropFirst()
    }

    private var verdict: String {
        guard let first = backends.first else { return "no backend was measured" }
        let names = PageText.list(best.map(\.key.row))
        guard backends.count > 1 else {
            return first.problem == nil ? first.key.row : "\(first.key.row) broke a promise"
        }
        switch best.count {
        case 0:
            let isBroken = backends.allSatisfy { $0.problem != nil }
            return isBroken ? "every backend broke a promise" : "no backend is earliest"
        case 1: return "\(names) is " + (rivals.isEmpty ? "the only backend that kept its promises" : "earliest")
        default:
            let subject = best.count == backends.count && best.count > 2 ? "all \(best.count) backends" : names
            if recommendation.isTooShort { return "too few laps to rank \(subject)" }
            return recommendation.isDivided ? "\(subject) share the lead" : "\(subject) cannot be told apart"
        }
    }

    /// The backends that a comparison ruled out.
    private var rivals: [RowReport] { backends.filter { !best.contains($0) && $0.problem == nil } }

    /// The lateness and the price of the best backends, and the lateness of the latest one.
    private var figures: String {
        let shown = best.isEmpty && backends.count == 1 ? backends : best
        guard !shown.isEmpty else { return "" }
        let tails = shown.compactMap(\.p99)
        let hasTails = tails.count == shown.count
        let lateness =
            hasTails
            ? "99 % of deadlines within \(PageText.range(tails))"
            : "half of the deadlines within \(PageText.range(shown.map { $0.corrected.percentile(50) }))"
        let latest = rivals.filter { $0.p99 != nil }.max { ($0.p99 ?? 0) < ($1.p99 ?? 0) }
        let other = hasTails ? latest.map { ", \($0.key.row) \(PageText.time($0.p99 ?? 0))" } ?? "" : ""
        let prices = shown.compactMap(\.cpuPercent)
        let price = prices.isEmpty ? "" : ", at \(PageText.range(percents: prices)) of a core"
        return ": " + lateness + other + price
    }

    /// What to take, and how every other backend compares; the sentences of the recommendation.
    package var advice: String {
        guard let first = best.first ?? backends.first else { return "Measure a backend for a recommendation." }
        let others = backends.filter { $0.key != first.key }
        guard !others.isEmpty else {
            let floor = report.rows.filter { $0.key == first.key.floor }
            return "Only \(first.key.row) \(hasSilent ? "ticked" : "was measured")."
                + list(floor.compactMap { comparison(first, with: $0) }, against: RowKey.floor)
        }
        // A backend can be out for another reason than its p50 against the first.
        let reasons = others.compactMap { reason(against: $0, first: first) }
        let compared = others.filter { reason(against: $0, first: first) == nil }
        return recommendation.headline
            + list(compared.compactMap { comparison($0, with: first) }, against: first.key.row) + reasons.joined()
    }

    private func list(_ comparisons: [String], against name: String) -> String {
        comparisons.isEmpty ? "" : " p50 against \(name): \(comparisons.joined(separator: ", "))."
    }

    private func comparison(_ row: RowReport, with other: RowReport) -> String? {
        guard let ratio = PairReport(row.key, other.key, .p50, in: report.results)?.ratio, ratio.verdict != .unknown
        else { return nil }
        return "\(row.key.row) \(ratio.words)"
    }

    /// What rules a backend out; nil if its p50 against the first says so, or if it is not out.
    private func reason(against row: RowReport, first: RowReport) -> String? {
        let candidate = recommendation.candidates.first { $0.row == row.key.row }
        guard let problem = candidate?.problem else { return nil }
        let isLater = PairReport(row.key, first.key, .p50, in: report.results)?.ratio.verdict == .later
        return isLater && row.problem == nil ? nil : " \(row.key.row) is out: \(problem)."
    }
}

extension RowReport {
    /// Nanoseconds within which 99 of 100 deadlines were served; nil for fewer than a hundred deadlines.
    var p99: Int64? { corrected.moments.count < 100 ? nil : corrected.percentile(99) }
}
