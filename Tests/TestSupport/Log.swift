package import PreciseTimer
internal import TimerAlarms

/// A target that notes its ticks.
package final class Log: Sendable {
    private let noted = Lock<[PreciseTimer.Tick]>([])

    package init() {}

    /// The ticks so far.
    package var ticks: [PreciseTimer.Tick] { noted.withLock { $0 } }

    /// How many ticks there were.
    package var count: Int { noted.withLock { $0.count } }

    package func note(_ tick: PreciseTimer.Tick) { noted.withLock { $0.append(tick) } }
}

/// A list that any thread may append to.
package final class Notes<Note: Sendable>: Sendable {
    private let noted = Lock<[Note]>([])

    package init() {}

    package var all: [Note] { noted.withLock { $0 } }

    package func append(_ note: Note) { noted.withLock { $0.append(note) } }
}

/// A place for a value that any thread may put there or take away.
package final class Box<Value: Sendable>: Sendable {
    private let content = Lock<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { content.withLock { $0 } }
        set {
            // The former value is handed out of the lock, and ends outside of it.
            _ = content.withLock { content in
                defer { content = newValue }
                return content
            }
        }
    }
}
