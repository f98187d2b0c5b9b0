internal import Synchronization
internal import TimerKernel

/// The thread or task that runs a handler, as one word. It tells whether a call comes from inside the handler.
struct Runner: Hashable, Sendable {
    /// An even number: the address of a thread's own data. An odd one: twice a task's number, plus one.
    /// Zero: no runner.
    private let word: UInt

    static let nobody = Runner(word: 0)

    /// The calling thread. A synchronous handler stays on one thread.
    static var thisThread: Runner { Runner(word: ThreadID.current.number) }

    /// A task for which ``TaskDelivery/current`` is this delivery.
    static func task(_ delivery: TaskDelivery) -> Runner { Runner(word: delivery.number << 1 | 1) }

    /// Whether it is a task.
    var isTask: Bool { word & 1 == 1 }

    /// Whether the caller is inside the handler.
    var isCaller: Bool { self == .thisThread || TaskDelivery.current.map { self == .task($0) } ?? false }
}

/// The handler call that a task is part of.
struct TaskDelivery: Hashable, Sendable {
    @TaskLocal static var current: TaskDelivery?

    /// Relaxed: the numbers must differ, and they order nothing.
    private static let count = Atomic<UInt>(0)

    fileprivate let number: UInt

    /// A delivery with a new number.
    init() { number = Self.count.add(1, ordering: .relaxed).newValue }
}
