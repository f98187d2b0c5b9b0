#if Libevent
internal import CLibevent
internal import Synchronization
package import TimerKernel

/// A timerfd on an event base, with an event that stays until the alarm is stopped.
///
/// It does not use libevent's own timers: on a host's base their clock may be coarse and their time cached, and
/// other threads may set them only if the host has enabled libevent's locks. A timerfd is set without libevent.
@safe package final class EventBaseAlarm: TimerAlarm {
    private let alarm: PollableAlarm
    // Only the thread that runs the base uses these two, except in `start`, which comes first.
    private nonisolated(unsafe) let base: OpaquePointer
    private nonisolated(unsafe) var event: OpaquePointer?
    /// Whether the loop serves only this alarm, and ends with it.
    private let ownsLoop: Bool
    /// Stored before `stop` sets the timer to wake the loop, and read after each other setting. The kernel's lock on
    /// the timer orders the settings: either the wake-up is the last one, or the setter sees this and wakes the loop
    /// itself.
    private let isStopped = Atomic(false)
    private let home = Process.generation

    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(_ base: OpaquePointer, _ clock: TimerClock, ownsLoop: Bool = false) throws(TimerError) {
        alarm = try PollableAlarm(clock)
        unsafe self.base = base
        self.ownsLoop = ownsLoop
    }

    /// Whether the process is known to have closed the timer's descriptor from outside.
    var isLost: Bool { alarm.isLost }

    /// Whether the base and the timer belong to the parent of this process.
    var isInForkedChild: Bool { alarm.isInForkedChild }

    package var now: TimerInstant { alarm.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        alarm.start(onFire: onFire, onFailure: onFailure)
        let argument = unsafe Unmanaged.passUnretained(self).toOpaque()
        let conditions = CShort(EV_READ | EV_PERSIST)
        let callback: event_callback_fn = { unsafe EventBaseAlarm.run($2) }
        guard let event = unsafe event_new(base, alarm.descriptor, conditions, callback, argument) else {
            throw TimerError(.systemRefused, "creating a libevent event")
        }
        // libevent would take the middle one, which an event of a higher priority starves if it is always ready.
        _ = unsafe event_priority_set(event, 0)
        guard unsafe event_add(event, nil) == 0 else {
            unsafe event_free(event)
            throw TimerError(.systemRefused, "adding an event to a libevent base")
        }
        unsafe self.event = event
        // The event holds the alarm until it is removed.
        _ = unsafe Unmanaged.passRetained(self)
    }

    /// The loop calls this.
    private static func run(_ argument: UnsafeMutableRawPointer?) {
        guard let argument = unsafe argument else { return }
        let alarm = unsafe Unmanaged<EventBaseAlarm>.fromOpaque(argument).takeUnretainedValue()
        // The parent's timer stays readable in the child, whose loop would spin. libevent requires event_reinit(3)
        // first in a child, so this removes the event from the child's loop and not from the parent's.
        if alarm.isInForkedChild { return alarm.detach() }
        alarm.alarm.process()
        // A handler has forked, and this is the child. A host's loop ends, so that the host can call event_reinit.
        if alarm.isInForkedChild {
            if alarm.ownsLoop { Thread.leaveForkedChild(of: alarm.home) }
            unsafe event_base_loopbreak(alarm.base)
            return
        }
        // The firing itself may have stopped the alarm.
        if alarm.isStopped.load(ordering: .acquiring) { alarm.detach() }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        try alarm.set(deadline)
        // This setting may have undone the wake-up of a concurrent stop.
        if isStopped.load(ordering: .acquiring) { alarm.wake() }
    }

    /// The loop removes the event when it runs next: no other thread may.
    package func stop() {
        alarm.stop()
        isStopped.store(true, ordering: .releasing)
        alarm.wake()
    }

    /// Removes the event, if it is still there. Call it on the thread that runs the base, or when no thread does.
    func detach() {
        guard let event = unsafe event else { return }
        unsafe self.event = nil
        unsafe event_free(event)
        if ownsLoop { unsafe event_base_loopbreak(base) }
        unsafe Unmanaged.passUnretained(self).release()
    }
}
#endif
