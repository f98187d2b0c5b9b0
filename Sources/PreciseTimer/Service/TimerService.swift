internal import TimerKernel

/// A running backend: one alarm, with the deadlines and deliveries of any number of timers.
///
/// Ten thousand timers on a service cost one thread and one set of descriptors. There is a shared service for each
/// backend, and one for the wall clock (``wall``), started on first use:
///
/// ```swift
/// try PreciseTimer.schedule(.every(.milliseconds(5)), on: .timerFD, target: model) { model, tick in … }
/// ```
///
/// Your own service, `try TimerService(.timerFD)`, lives while you hold it or a timer on it is pending. Then its
/// thread ends. All members may be used from any thread, and from inside a handler.
public final class TimerService: Sendable, CustomStringConvertible, CustomReflectable {
    let core: ServiceCore
    /// The name of its backend, or of its alarm's type.
    let name: String
    /// Whether it is one of the process's shared services.
    package let isShared: Bool

    /// A service with the given state, not started.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - name: the name of its backend, or of its alarm's type.
    ///   - setup: the settings of its thread; nothing for a service without a thread of its own.
    ///   - isShared: whether it is one of the process's shared services.
    init(
        _ state: consuming sending ServiceState,
        name: String,
        setup: ThreadSetup = ThreadSetup(),
        isShared: Bool = false
    ) {
        core = ServiceCore(state, setup: setup)
        self.name = name
        self.isShared = isShared
    }

    deinit { core.shutdown() }

    /// The time on the service's clock, as its alarm reads it. If no alarm is running, or in a forked child, as the
    /// kernel has it.
    public var now: TimerInstant { core.now }

    /// The facts of each timer that has not ended, in no particular order. O(n) for n timers.
    public var activeTimers: [Snapshot] { core.survey { Snapshot($0, core) } }

    /// The backend, its clock and the number of its timers, as in `shared timerfd service, suspending clock, 3 timers`,
    /// and then a line for each of the first 64 timers or more, as ``Snapshot`` describes it.
    public var description: String {
        let timers = core.survey(atLeast: 64) { Snapshot($0, core) }
        return ([title] + timers.map { "  \($0)" }).joined(separator: "\n")
    }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The first line of the description.
    var title: String {
        let count = core.lock.isOfAnotherProcess ? 0 : core.pendingCount
        let clock = "\(core.clock.rawValue) clock"
        return "\(isShared ? "shared " : "")\(name) service, \(clock), \(counted(count, "timer"))"
    }

    /// A name for reports, the same in each run of the program, as in `shared-timerfd` and `timerfd-wall`. Services of
    /// one kind have the same.
    package var reportedName: String {
        let clock = core.clock == .suspending ? nil : core.clock.rawValue
        return [isShared ? "shared" : nil, name, clock].compactMap(\.self).joined(separator: "-")
    }

    /// Ends the timers whose target was released. O(n) for n timers.
    package func endTimersOfDeadTargets() { core.endTimersOfDeadTargets(among: core.pendingCount) }

    /// How many timers have not ended.
    package var pendingCount: Int { core.pendingCount }

    /// The number of the thread that is in a round, which calls the inline handlers; 0 between rounds.
    package var roundThread: UInt { core.roundThread.number }

    /// The work that is still going on after the last round.
    package var activity: Activity { core.activity }

    /// What the ticks that come by an instant may lead to.
    package func pendingWork(by instant: TimerInstant) -> PendingWork { core.pendingWork(by: instant) }

    /// When the alarm must fire next; nil if no deadline will come.
    package var nextWakeTime: TimerInstant? { core.nextWakeTime }
}

extension String {
    /// The name with the smallest number that makes it free: `name`, `name-2`, `name-3`.
    package func numbered(isFree: (String) -> Bool) -> String {
        var (name, number) = (self, 1)
        while !isFree(name) {
            number += 1
            name = "\(self)-\(number)"
        }
        return name
    }
}

extension TimerService {
    /// The facts of one timer at one moment. A plain value.
    public struct Snapshot: Equatable, Sendable, CustomStringConvertible {
        /// The timer's name.
        public let label: String?
        /// The file of the call that scheduled it.
        public let file: String
        /// The line of that call.
        public let line: UInt
        /// The deadline of the next tick; nil if no tick remains, if the timer rests until it is rescheduled, or if
        /// the running handler decides it.
        public let nextDeadline: TimerInstant?
        /// Whether its ticks are held back.
        public let isPaused: Bool
        /// Whether its target is alive. A timer whose target was released ends within about four seconds, or later if
        /// the service has more than 100,000 timers.
        public let isTargetAlive: Bool
        /// How many ticks it has had.
        public let ticks: Int
        /// How late the last tick was; nil if there was no tick yet.
        public let lastLateness: Duration?
        /// When the running handler was called; nil if it does not run. See ``PreciseTimer/runningSince``.
        public let runningSince: TimerInstant?
        /// The deadline of the tick that is on its way to a queue, an actor, a task or a loop over ticks; nil if no
        /// tick is on its way. A tick that never arrives stays here, such as one for the main actor while the main
        /// thread runs a loop that does not serve that actor.
        public let waitingSince: TimerInstant?
        /// The latest call of the handler that has returned. See ``PreciseTimer/lastRun``.
        public let lastRun: PreciseTimer.HandlerRun?

        /// The facts, as in `timer "clock" (App/Clock.swift:12): 4 ticks, the last 12.3 µs late`.
        public var description: String {
            let name = label.map { "timer \"\($0)\"" } ?? "timer"
            let facts = [
                counted(ticks, "tick"), lastLateness.map { "the last \($0.text) late" },
                lastRun.map { "it ran for \($0.duration.text)" }, lastRun?.error.map { "and threw: \($0)" },
                runningSince.map { "running since \($0)" },
                nextDeadline.map { waitingSince == nil ? "the next at \($0)" : "waiting since \($0)" },
                isPaused ? "paused" : nil, isTargetAlive ? nil : "target released",
            ]
            return "\(name) (\(file):\(line)): \(facts.compactMap(\.self).joined(separator: ", "))".onOneLine
        }

        init(_ view: TimerView, _ core: ServiceCore) {
            let record = view.record
            (label, file, line) = (record.label, record.user.site.file, UInt(record.user.site.line))
            nextDeadline = core.instant(record.timing.knownDeadline)
            waitingSince = record.stage == .dispatched ? nextDeadline : nil
            (isPaused, isTargetAlive) = (record.timing.isPaused, view.target != nil)
            (runningSince, lastRun) = (view.runningSince.flatMap(core.instant), record.lastRun)
            (ticks, lastLateness) = (Int(clamping: record.user.ticks), record.latenessOfLastTick)
        }
    }
}

/// Ending services.
extension TimerService {
    /// Ends all timers of your own service, and its thread. Other timers that were due together with the running
    /// handler do not tick.
    ///
    /// May be called more than once, and from a handler. Does not wait for a handler that is running on another
    /// thread. Afterwards, scheduling on the service throws a `TimerError`. O(n) for n timers.
    ///
    /// The shared services (``default``, ``timerFD`` and the others) also have the timers of all other code in the
    /// process. So this call does nothing to a shared service, returns false, and in a debug build says so on standard
    /// error. To end your timers there, hold them in a ``TimerBag``. See also ``shutdownForEveryone()``.
    ///
    /// - Parameters:
    ///   - file: the file that a debug build names.
    ///   - line: the line that a debug build names.
    /// - Returns: whether this call ended the service.
    @discardableResult public func shutdown(file: StaticString = #fileID, line: UInt = #line) -> Bool {
        if !isShared { return core.shutdown() }
        #if DEBUG
        StandardError.writeLine(
            "PreciseTimer: \(file):\(line): a shared service was not shut down, because that would end the timers of "
                + "all code in the process; hold your timers in a TimerBag, or call shutdownForEveryone()"
        )
        #endif
        return false
    }

    /// Ends your own service, and waits for handlers that are running on other threads or in other tasks.
    ///
    /// Otherwise like ``shutdown(file:line:)``. It waits also if another call ended the service, for handlers of timers
    /// that ended before, and even if the task is cancelled. The call that ended the service returns after the
    /// `onEnd` of each timer that it ended. If it is called from inside a handler, it does not wait for that handler.
    ///
    /// - Parameters:
    ///   - file: the file that a debug build names.
    ///   - line: the line that a debug build names.
    /// - Returns: whether this call ended the service.
    @discardableResult public func shutdownAndWait(file: StaticString = #fileID, line: UInt = #line) async -> Bool {
        (try? await shutdownAndWait(upTo: nil, file: file, line: line)) ?? false
    }

    /// Ends all timers of a service, also of a shared one: the timers of all code in the process, whichever part
    /// scheduled them. Each ends with ``PreciseTimer/EndReason/serviceShutDown``.
    ///
    /// The next schedule starts a shared service again. Otherwise like ``shutdown(file:line:)``. For programs that end
    /// all their work at once; libraries should not call it.
    ///
    /// - Returns: whether this call ended the service.
    @discardableResult public func shutdownForEveryone() -> Bool { core.shutdown() }
}
