internal import PreciseTimer
internal import TimerAlarms

/// Waits until a condition holds; false if it does not within half a minute, which no stall of a busy host explains.
package func eventually(_ condition: () -> Bool) -> Bool {
    for _ in 0..<30_000 {
        if condition() { return true }
        KernelClock.sleep(for: .milliseconds(1))
    }
    return condition()
}

/// Lets real time pass.
package func pause(_ duration: Duration) { KernelClock.sleep(for: duration) }

/// Runs a body on a number of threads, all begun at once, and waits for all of them.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    let running = Lock(count)
    let isOpen = Lock(false)
    for number in 0..<count {
        try Thread.start("test.\(number)") {
            while !isOpen.withLock({ $0 }) { KernelClock.sleep(for: .microseconds(50)) }
            body(number)
            running.withLock { $0 -= 1 }
        }
    }
    isOpen.withLock { $0 = true }
    while running.withLock({ $0 }) > 0 { KernelClock.sleep(for: .microseconds(200)) }
}
