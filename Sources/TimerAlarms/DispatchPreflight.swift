internal import Dispatch
internal import Synchronization
package import TimerCore

/// Finds out whether Dispatch timers can work in this process.
///
/// Dispatch has no way to say that they cannot: without descriptors for its event loop it ends the process, without one
/// for the timer it never fires, without threads it hangs, and after a fork it is dead. So the first use tries what
/// Dispatch is going to need, and then waits for one timer to have fired. From then on Dispatch keeps its descriptors.
package enum DispatchPreflight {
    /// The process in which a Dispatch timer has fired; 0 before.
    private static let provenIn = Atomic<Int32>(0)

    /// - Throws: `TimerError` with what is lacking.
    package static func check() throws(TimerError) {
        // Dispatch starts a thread when it has none to spare, and waits for ever where that fails.
        try Thread.start("timer.preflight") {}
        switch provenIn.load(ordering: .acquiring) {
        case Process.id: return
        case 0: break
        default: throw TimerError(.forked, "starting a Dispatch timer (Dispatch does not survive a fork)")
        }
        // An epoll and an event descriptor for its event loop, one for the timer, one more for a moment.
        try SpareDescriptors.check(4)
        try proveThatTimersFire()
        provenIn.store(Process.id, ordering: .releasing)
    }

    private static func proveThatTimersFire() throws(TimerError) {
        let fired = DispatchSemaphore(value: 0)
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: DispatchQueue(label: "timer.preflight"))
        source.setEventHandler { fired.signal() }
        source.schedule(deadline: .now())
        source.activate()
        defer { source.cancel() }
        if fired.wait(timeout: .now() + .seconds(10)) == .timedOut {
            throw TimerError(.systemRefused, "waiting 10 s for a first Dispatch timer to fire")
        }
    }
}
