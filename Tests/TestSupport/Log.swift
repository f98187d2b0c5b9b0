package import PreciseTimer
internal import TimerAlarms

/// A target that records its ticks.
package final class Log: Sendable {
    private let noted = Lock<[PreciseTimer.Tick]>([])

    package init() {}

    /// The ticks so far.
    package var ticks: [PreciseTimer.Tick] { noted.withLock { $0 } }

    /// The number of ticks so far.
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

/// A place in which any thread may put a value, or remove it.
package final class Box<Value: Sendable>: Sendable {
    private let content = Lock<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { content.withLock { $0 } }
        set {
            // The former value is returned out of the lock, and released outside it.
            _ = content.withLock { content in
                defer { content = newValue }
                return content
            }
        }
    }
}
