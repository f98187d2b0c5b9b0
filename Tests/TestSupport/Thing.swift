internal import TimerAlarms

/// An object for a handler to capture, or a target; it reports its release.
package final class Thing: Sendable {
    private let onDeinit: (@Sendable () -> Void)?

    package init(onDeinit: (@Sendable () -> Void)? = nil) { self.onDeinit = onDeinit }

    deinit { onDeinit?() }
}

/// A number that any thread may change.
package final class Count: Sendable {
    private let number = Lock(0)

    package init() {}

    package var value: Int { number.withLock { $0 } }

    /// Adds a number, and returns the sum.
    @discardableResult
    package func add(_ difference: Int) -> Int {
        number.withLock { number in
            number += difference
            return number
        }
    }
}

extension Count {
    /// Blocks the calling thread until the number has changed, for half a minute at most.
    package func awaitChange() {
        let before = value
        _ = eventually { value != before }
    }
}

/// A gate that is opened once, for all threads and tasks that wait for it.
package final class Gate: Sendable {
    private let isOpen = Lock(false)

    package init() {}

    package func open() { isOpen.withLock { $0 = true } }

    /// Whether the gate is open.
    package var isPassable: Bool { isOpen.withLock { $0 } }

    /// Blocks the calling thread until the gate is open.
    package func pass() { while !isOpen.withLock({ $0 }) { pause(.milliseconds(1)) } }

    /// Waits until the gate is open.
    package func pass() async { while !isOpen.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) } }
}
