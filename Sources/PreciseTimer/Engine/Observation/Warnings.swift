internal import Synchronization
internal import TimerKernel

/// A warning of debug builds about a timer, on standard error. A process writes each for the first 16 call sites, and
/// once for each of them.
final class TimerWarning: Sendable {
    /// The handle was released before the first tick.
    static let droppedHandle = TimerWarning { _ in
        "the handle of this timer was dropped before its first tick, which ended the timer; keep the handle, or "
            + "schedule with a target"
    }
    /// The target was released before the first tick.
    static let lostTarget = TimerWarning { _ in
        "the target of this timer was released before its first tick, which ended the timer; if that was not "
            + "intended, keep the target: the timer does not"
    }
    /// An error ended the timer, and no `onError` heard of it.
    static let unheardError = TimerWarning { error in
        "the handler of this timer threw an error, which ended the timer, and nothing heard of it: \(error); pass "
            + "`onError:`, and the timer goes on, or `onEnd:`"
    }
    /// A thread that is made to be on time has its ticks delivered elsewhere.
    static let leftThread = TimerWarning { thread in
        "the handler of this timer or its `onError` awaits, so it runs on the shared thread pool, and is later than "
            + "the \(thread) thread of its service; leave the `await` out, or await in a task that the handler makes"
    }

    private let text: @Sendable (_ detail: String) -> String
    private let sites = Lock(Set<CallSite>())

    private init(_ text: @escaping @Sendable (String) -> String) { self.text = text }

    /// Writes it, unless it was written before.
    func write(for record: Record, _ detail: String = "") { write(at: record.user.site, detail) }

    func write(at site: CallSite, _ detail: String = "") {
        let isNew = sites.withLock(inForkedChild: false) { $0.count < 16 && $0.insert(site).inserted }
        if isNew { StandardError.writeLine(site.message(text(detail))) }
    }
}

extension Record {
    /// Whether a released target ended the timer before its first tick, although it had a period.
    var hasLostItsTargetAtOnce: Bool {
        ending == .targetReleased && user.ticks == 0 && timing.leastPeriod != .max && !timing.isOnDemand
    }
}

/// The warnings of debug builds about slow handlers.
private enum SlowHandlerWarnings {
    /// How many are left. A process is warned of the first 16 call sites: a test run may have thousands. Relaxed: the
    /// count orders nothing.
    static let left = Atomic(16)
}

extension SlowSite {
    /// Warns the developer about a slow handler.
    func warn() {
        guard SlowHandlerWarnings.left.subtract(1, ordering: .relaxed).oldValue > 0 else { return }
        let (time, period) = (Duration(wholeNanoseconds: longest).text, Duration(wholeNanoseconds: period).text)
        let calls = "in \(count) calls, once for \(time)"
        // Elsewhere it makes no other timer late.
        let elsewhere = "for longer than its period, \(period), \(calls), so that deadlines pass without a tick;"
        let text =
            switch way {
            case .inline:
                "ran for longer than \(period), its period or the time that other timers may wait for its thread, "
                    + "\(calls): do less in it, or let it run elsewhere (`deliver: .queue`)"
            case .onQueue: "ran \(elsewhere) do less in it, or use a longer period or `.fixedDelay`"
            case .inTask: "ran or awaited \(elsewhere) use a longer period or `.fixedDelay`"
            }
        StandardError.writeLine(site.message(ofHandler: label, text))
    }
}

/// Whether this is a debug build, which warns the developer on standard error.
var isDebugBuild: Bool {
    #if DEBUG
    true
    #else
    false
    #endif
}

/// A call in the user's code that schedules timers.
struct CallSite: Hashable, Sendable {
    /// The address of the file's name, which exists as long as the process. A number, because no pointer is `Sendable`.
    private let address: UInt
    let line: UInt32

    @inline(__always) init(_ file: StaticString, _ line: UInt) {
        // A static string holds a single character instead of a pointer only if someone made it so on purpose.
        address = unsafe UInt(bitPattern: (file.hasPointerRepresentation ? file : "?").utf8Start)
        self.line = UInt32(clamping: line)
    }

    /// The file's name.
    var file: String { unsafe UnsafePointer<UInt8>(bitPattern: address).map { unsafe String(cString: $0) } ?? "?" }

    /// A line that tells the developer something about the timer.
    func message(_ text: String) -> String { "PreciseTimer: \(file):\(line): \(text)" }

    /// The same about the timer's handler.
    func message(ofHandler label: String?, _ text: String) -> String {
        message("the handler of this timer\(label.map { " (\"\($0)\")" } ?? "") \(text)")
    }
}

/// A call that scheduled a timer, or many with the same label, whose handler was slow.
struct SlowSite {
    /// How many sites are noted.
    static var most: Int { 16 }
    /// How long an inline handler may keep its service's thread, in nanoseconds.
    static var patience: UInt64 { 5_000_000 }

    /// How the handler is called.
    enum Way { case inline, onQueue, inTask }

    let label: String?
    let site: CallSite
    let way: Way
    /// What the slowest call exceeded, and its time, in nanoseconds.
    var period: UInt64
    private(set) var longest: UInt64
    private(set) var count: UInt64 = 1
    /// Whether a debug build has warned of it.
    fileprivate var isReported = false

    /// One call of a timer's handler, which took longer than its period, or than an inline handler may.
    init(_ record: Record, _ time: UInt64, over period: UInt64) {
        label = record.label
        site = record.user.site
        switch record.user.destination {
        case .inline, .mailbox: way = .inline
        case .queue: way = .onQueue
        case .task: way = .inTask
        }
        self.period = period
        longest = time
    }

    /// Adds another call.
    fileprivate mutating func add(_ call: SlowSite) {
        count += 1
        if call.longest > longest { (period, longest) = (call.period, call.longest) }
    }
}

/// The first call sites whose handlers were slow.
extension [SlowSite] {
    /// Notes one slow call. O(1).
    mutating func note(_ call: SlowSite) {
        if let known = firstIndex(where: { $0.site == call.site && $0.label == call.label }) {
            self[known].add(call)
        } else if count < SlowSite.most {
            append(call)
        }
    }

    /// The sites that a debug build must still report, each at its third slow call: the machine can hold up any
    /// handler once or twice.
    mutating func takeUnreported() -> [SlowSite] {
        indices.compactMap { index in
            guard self[index].count >= 3, !self[index].isReported else { return nil }
            self[index].isReported = true
            return self[index]
        }
    }
}
