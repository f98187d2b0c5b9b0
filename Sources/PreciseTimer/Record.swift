internal import Synchronization
internal import TimerAlarms
internal import TimerCore

/// What a service knows of one timer beside its numbers. Lives under the service's lock, and there only, as long as the
/// timer goes on, its handler runs, or its handle is held.
final class Record {
    /// What the caller said of it.
    var description: Description
    /// Where the ticks go; nil once the timer has ended.
    var destination: Destination?
    /// Whether the handle still exists.
    var hasHandle = true
    /// Whether the handle is the target.
    let handleIsTarget: Bool
    /// How the timer ended.
    var ending: PreciseTimer.EndReason?
    /// Who is running the handler.
    var runner: Runner?
    /// What to do when that handler has returned.
    var waiting: [@Sendable () -> Void] = []
    /// How many ticks there were.
    var ticks: UInt64 = 0
    /// How late the last of them was.
    var lastLateness: Duration?

    init(_ description: Description, _ destination: Destination, handleIsTarget: Bool) {
        self.description = description
        self.destination = destination
        self.handleIsTarget = handleIsTarget
    }

    /// Why the timer ends when its target is gone.
    var reasonWhenTargetIsGone: PreciseTimer.EndReason { handleIsTarget ? .handleReleased : .targetReleased }

    /// Notes the end. What the user has to hear of it, and gets released, is returned, to be performed outside the lock;
    /// while the handler runs, only the release is, and the rest comes with its return.
    func end(_ reason: PreciseTimer.EndReason) -> Farewell {
        ending = reason
        let released = destination.take()
        if runner != nil { return Farewell(destination: released) }
        return Farewell(destination: released, onEnd: description.onEnd.take(), reason: reason)
    }

    /// What is left to do for a timer that ended while its handler ran, and has returned.
    func farewellAfterHandler() -> Farewell {
        defer { waiting = [] }
        return Farewell(onEnd: description.onEnd.take(), reason: ending, waiting: waiting)
    }
}

/// Who runs a handler: what tells a call from inside it.
enum Runner: Sendable {
    /// A thread, which does not change while a synchronous handler runs.
    case thread(ThreadID)
    /// A task that has the timer as the value of ``TaskDelivery/current``.
    case task(TaskDelivery)

    /// Whether the caller is inside that handler.
    var isCaller: Bool {
        switch self {
        case .thread(let thread): thread == .current
        case .task(let delivery): delivery == TaskDelivery.current
        }
    }
}

/// The one call of a handler that a task is part of.
struct TaskDelivery: Hashable, Sendable {
    @TaskLocal static var current: TaskDelivery?

    /// How many there have been.
    private static let count = Atomic<UInt64>(0)

    private let number: UInt64

    /// Another one.
    init() { number = Self.count.add(1, ordering: .relaxed).newValue }
}

/// What is left to do for a timer that has ended, outside of any lock.
struct Farewell {
    /// What is released.
    var destination: Destination?
    /// Who hears of it.
    var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
    var reason: PreciseTimer.EndReason?
    /// Who waits for it.
    var waiting: [@Sendable () -> Void] = []
    /// The service, where this was its last timer.
    var service: TimerService?

    /// Whether nothing is left to do.
    var isEmpty: Bool { destination == nil && onEnd == nil && waiting.isEmpty && service == nil }

    /// Does it, in that order: whoever hears of the end finds released what the handler had captured.
    mutating func perform() {
        destination = nil
        if let reason { onEnd?(reason) }
        onEnd = nil
        for resume in waiting { resume() }
        waiting = []
        service = nil
    }
}

/// The one place where a farewell is, however often the box is copied: what it holds is released when it is performed.
final class FarewellBox: Sendable {
    private let farewell: Lock<Farewell?>

    init(_ farewell: Farewell) { self.farewell = Lock(farewell) }

    func perform() {
        var farewell = farewell.withLock { $0.take() }
        farewell?.perform()
    }
}
