internal import HostSystem
internal import TimerResults

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
