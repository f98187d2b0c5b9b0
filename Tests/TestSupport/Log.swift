public import PreciseTimer
internal import TimerAlarms

/// A target that notes its ticks.
public final class Log: Sendable {
    private let noted = Lock<[PreciseTimer.Tick]>([])

    public init() {}

    /// The ticks so far.
    public var ticks: [PreciseTimer.Tick] { noted.withLock { $0 } }

    /// How many ticks there were.
    public var count: Int { noted.withLock { $0.count } }

    public func note(_ tick: PreciseTimer.Tick) { noted.withLock { $0.append(tick) } }
}

/// A list that any thread may append to.
public final class Notes<Note: Sendable>: Sendable {
    private let noted = Lock<[Note]>([])

    public init() {}

    public var all: [Note] { noted.withLock { $0 } }

    public func append(_ note: Note) { noted.withLock { $0.append(note) } }
}

/// A value that is handed over once.
public final class Box<Value: Sendable>: Sendable {
    private let content = Lock<Value?>(nil)

    public init() {}

    public var value: Value? {
        get { content.withLock { $0 } }
        set { _ = content.withLock { content in swap(content: &content, newValue) } }
    }

    private func swap(content: inout Value?, _ newValue: Value?) -> Value? {
        let former = content
        content = newValue
        return former
    }
}
