internal import Dispatch
internal import Synchronization
internal import TimerKernel

/// The warnings of debug builds about handlers that run for longer than their period.
package enum SlowHandlerWarnings {
    /// How many are left. A process is warned of the first 16 places: a test run may have thousands. Relaxed: the count
    /// orders nothing.
    private static let left = Atomic(16)

    /// Turns them off in this process, for a program whose handlers are slow on purpose.
    package static func turnOff() { left.store(0, ordering: .relaxed) }

    /// Whether one more may be written.
    fileprivate static func take() -> Bool { left.subtract(1, ordering: .relaxed).oldValue > 0 }
}

extension SlowPlace {
    /// Warns the developer about a handler that runs for longer than its period.
    func warn() {
        guard SlowHandlerWarnings.take() else { return }
        let (file, name) = unsafe (String(cString: file), label.map { " (\"\($0)\")" } ?? "")
        let (time, period) = (Duration(wholeNanoseconds: longest).text, Duration(wholeNanoseconds: period).text)
        let handler = "PreciseTimer: \(file):\(line): the handler of this timer\(name)"
        let calls = "in \(count) calls, once for \(time)"
        let deadlines = missed == 1 ? "1 deadline" : "\(missed) deadlines"
        let text =
            switch way {
            case .inline:
                "ran for longer than \(period), its period or that of another timer on its thread, \(calls); ticks are "
                    + "late: do less in it, or let it run elsewhere (`deliver: .queue`)"
            // These make no other timer late.
            case .onQueue:
                "ran for longer than its period, \(period), \(calls): \(deadlines) had no tick; do less in it, or use "
                    + "a longer period or `.fixedDelay`"
            case .inTask:
                "ran or awaited for longer than its period, \(period), \(calls): \(deadlines) had no tick; use a "
                    + "longer period or `.fixedDelay`"
            }
        StandardError.writeLine("\(handler) \(text)")
    }
}

/// The places of one kind of warning: a process is warned of the first 16, and of each once.
final class WarnedPlaces: Sendable {
    private struct Place: Hashable {
        let file: UInt
        let line: UInt32
    }

    private let places = Lock(Set<Place>())

    static let droppedHandles = WarnedPlaces()
    static let lostTargets = WarnedPlaces()
    static let unheardErrors = WarnedPlaces()

    /// Whether the place that scheduled a timer must be named. True once.
    func mustName(_ record: Record) -> Bool {
        let (file, line) = unsafe record.storedSite
        let place = Place(file: UInt(bitPattern: file), line: line)
        return places.withLock(inForkedChild: false) { $0.count < 16 && $0.insert(place).inserted }
    }
}

/// Messages of debug builds on standard error.
extension Record {
    /// Warns the developer about a handle that was released before the first tick.
    func warnOfDroppedHandle() {
        guard WarnedPlaces.droppedHandles.mustName(self) else { return }
        warn(
            "the handle of this timer was dropped before its first tick, which ended the timer; keep the handle, or "
                + "schedule with a target"
        )
    }

    /// Whether a released target ended the timer before its first tick, although it had a period.
    var hasLostItsTargetAtOnce: Bool {
        ending == .targetReleased && user.ticks == 0 && leastPeriod != .max && !isOnDemand
    }

    /// Warns the developer about a target that was released before the first tick.
    func warnOfLostTarget() {
        guard WarnedPlaces.lostTargets.mustName(self) else { return }
        warn(
            "the target of this timer was released before its first tick, which ended the timer; if that was not "
                + "intended, keep the target: the timer does not"
        )
    }

    /// Warns the developer about an error that ended the timer, and that nobody was told.
    func warnOfUnheardError(_ error: any Error) {
        guard WarnedPlaces.unheardErrors.mustName(self) else { return }
        warn(
            "the handler of this timer threw an error, which ended the timer, and nobody was told: \(error); pass "
                + "`onError:`, and the timer goes on, or `onEnd:`"
        )
    }

    private func warn(_ text: String) {
        let (file, line) = callSite
        StandardError.writeLine("PreciseTimer: \(file):\(line): \(text)")
    }
}

/// Tells the developer, once, about a process in which the main actor does not run.
enum MainLoopWarning {
    #if DEBUG
    private static let isAlive = Atomic(false)

    private static let watch: Void = {
        Task.detached { @MainActor in isAlive.store(true, ordering: .relaxed) }
        DispatchQueue.global()
            .asyncAfter(deadline: .now() + .seconds(5)) {
                if isAlive.load(ordering: .relaxed) { return }
                StandardError.writeLine(
                    "PreciseTimer: a tick has waited for 5 s for the main actor, which does not run: the program needs "
                        + "an async main function, dispatchMain(), or a run loop on its main thread"
                )
            }
    }()
    #endif

    /// A tick is on its way to the main actor.
    static func expectTick() {
        #if DEBUG
        _ = watch
        #endif
    }
}

extension TimerRequest {
    /// A handler that, in a debug build, tells before the process ends if it asks for the main actor while it runs
    /// elsewhere. The Swift runtime ends the process for that.
    func checked(_ handler: Handler) -> Handler {
        #if DEBUG
        let (file, line) = unsafe (UInt(bitPattern: file), line)
        let name = label.map { " (\"\($0)\")" } ?? ""
        return Handler { (target: AnyObject, tick) in
            MainActorCheck.watch {
                handler.call(target, tick)
            } warning: {
                let file = unsafe UnsafePointer<UInt8>(bitPattern: file).map { unsafe String(cString: $0) } ?? "?"
                return "PreciseTimer: \(file):\(line): the handler of this timer\(name) asks for the main actor but "
                    + "does not run on it; pass `deliver: .mainActor` and leave the assumption out, or isolate the "
                    + "handler: `{ @MainActor target, tick in … }`"
            }
        }
        #else
        return handler
        #endif
    }
}
