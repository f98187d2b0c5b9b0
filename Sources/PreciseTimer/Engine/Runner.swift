internal import Synchronization
internal import TimerAlarms

/// Who runs a handler, in one word: what tells a call from inside it.
struct Runner: Hashable, Sendable {
    /// The address of a thread's own data, which is even; or twice a task's number, and one.
    private let word: UInt

    static let nobody = Runner(word: 0)

    /// The calling thread, which does not change while a synchronous handler runs.
    static var thisThread: Runner { Runner(word: ThreadID.current.number) }

    /// A task that has the call as the value of ``TaskDelivery/current``.
    static func task(_ delivery: TaskDelivery) -> Runner { Runner(word: delivery.number << 1 | 1) }

    /// Whether the caller is inside that handler.
    var isCaller: Bool {
        self == .thisThread || TaskDelivery.current.map { self == .task($0) } ?? false
    }
}

/// The one call of a handler that a task is part of.
struct TaskDelivery: Hashable, Sendable {
    @TaskLocal static var current: TaskDelivery?

    private static let count = Atomic<UInt>(0)

    fileprivate let number: UInt

    /// Another one.
    init() { number = Self.count.add(1, ordering: .relaxed).newValue }
}
