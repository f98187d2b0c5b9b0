internal import FoundationEssentials
internal import HostSystem
internal import TimerProbe
internal import TimerResults

/// Carries out a plan for a user: shows progress, obeys Ctrl-C, and writes the ticks.
struct Measuring {
    private let plan: MeasurementPlan
    /// What the plan's rows obtained of the system.
    private let grants: [Grant]
    private let ticks: TickFile?
    private var rounds: [Round] = []
    private var origin: Origin?
    /// Why the measurement ended early; nil if it did not.
    private var failure: MeasurementError?
    /// Why the ticks could not be written; nil if they could.
    private var writing: (any Error)?

    /// What ends the measurement before its last lap; nil for nothing.
    private var precision: Precision?
    /// Whether that has ended it.
    private var isEnough = false

    init(
        plan: MeasurementPlan,
        grants: [Grant] = [],
        ticks: TickFile? = nil,
        until precision: Precision? = nil
    ) {
        self.plan = plan
        self.grants = grants
        self.ticks = ticks
        self.precision = precision
    }

    mutating func run(_ console: inout Console) {
        let start = Date.now
        var measurement = Measurement(plan)
        var writing: (any Error)?
        do throws(MeasurementError) {
            try measurement.run { progress in
                console.show(progress, note: precision?.progress ?? "")
                return !console.isInterrupted && writing == nil
            } turnEnded: { lap, key, turn in
                do { try ticks?.append(lap, key, turn) } catch { writing = error }
            } isEnough: { rounds in
                let results = Results(hosts: [], options: plan.options, rounds: rounds)
                isEnough = precision?.isEnough(laps: results.laps) { results } ?? false
                return isEnough
            }
        } catch {
            failure = error
        }
        console.clear()
        if failure == nil, let note = precision?.note { console.note(note) }
        self.writing = writing
        rounds = measurement.rounds
        origin = Version.origin(since: start)
    }

    /// The report; nil if nothing was measured.
    var report: Report? {
        guard !rounds.isEmpty else { return nil }
        let host = Host.current
        var options = plan.options
        if isEnough { options.laps = rounds.reduce(0) { $0 + $1.laps } }
        return Report(
            Results(
                hosts: [host],
                origins: [origin].compactMap(\.self),
                options: options,
                remarks: Remark.all(for: plan, on: host),
                grants: grants,
                rounds: rounds
            )
        )
    }

    /// Whether the measurement ended early, or ticks could not be written.
    var isIncomplete: Bool { failure != nil || writing != nil }

    /// The error of an incomplete measurement.
    func error(leaving results: String) -> any Error {
        if let writing { return writing }
        guard failure == .stopped else { return Exit.failed(failure.map { "\($0)" } ?? "nothing was measured") }
        return Exit.interrupted(leaving: results)
    }
}

/// The file of every tick. A turn is written as soon as it has ended.
final class TickFile {
    private let file: OutputFile
    private var hasBegun = false

    init(_ file: OutputFile) { self.file = file }

    /// Writes the ticks of a turn. The first call replaces the file's former content by a header.
    func append(_ lap: Int, _ key: RowKey, _ turn: Turn) throws {
        if !hasBegun { try file.replace(with: SampleLines.header) }
        hasBegun = true
        try file.append(SampleLines.lines(turn, of: key, lap: lap))
    }
}

/// How precisely --until wants to know every pair, and how far a measurement is from that.
struct Precision {
    /// The wanted reach of every p50's interval, as a share: 0.05 for ± 5 %.
    private let wanted: Double
    /// Nanoseconds that the measurement may take.
    private let limit: UInt64
    private let start = SystemClock.monotonic.nanoseconds
    /// The reach of the least known pair; nil before there are enough laps.
    private var reach: Double?
    /// The laps at the next look. A look at many laps takes a moment, so the looks become rarer.
    private var nextLook = 0

    init(wanted: Double, limit: Duration) {
        self.wanted = wanted
        self.limit = limit.wholeNanoseconds
    }

    /// Whether a measurement can end: every pair is known as precisely as wanted, or the time is over.
    mutating func isEnough(laps: Int, _ results: () -> Results?) -> Bool {
        let isOver = SystemClock.monotonic.nanoseconds - start >= limit
        guard laps >= nextLook || isOver else { return false }
        nextLook = laps + laps / 20
        reach = results()?.widestReach
        return isOver || isReached
    }

    private var isReached: Bool { reach.map { $0 <= wanted } ?? false }

    /// A few words for the progress.
    var progress: String {
        let known = reach.map { "± \(NumberText.fixed(100 * $0, places: 1))" } ?? "not yet"
        return "\(known) of ± \(wish)"
    }

    /// A note for a measurement that ended before; nil if every pair is known as precisely as wanted.
    var note: String? {
        guard !isReached else { return nil }
        let known = reach.map { "± \(NumberText.fixed(100 * $0, places: 1)) %" } ?? "nothing certain"
        return "the time was over at \(known), before ± \(wish): ask for a longer --limit"
    }

    private var wish: String { "\(NumberText.fixed(100 * wanted, places: 1)) %" }
}
