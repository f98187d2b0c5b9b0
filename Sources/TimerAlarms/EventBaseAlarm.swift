#if Libevent
internal import CLibevent
internal import Synchronization
package import TimerCore

/// A timerfd on somebody's event base, as an event that stays until the alarm is stopped.
///
/// Not one of libevent's own timers: on a base of unknown making their clock may be coarse and their time cached, and no
/// other thread may set them unless the host has libevent's locks. A timerfd is set without libevent.
@safe
package final class EventBaseAlarm: TimerAlarm {
    private let alarm: PollableAlarm
    // Both are used on the thread that runs the base only, but for `start`, which comes before.
    private nonisolated(unsafe) let base: OpaquePointer
    private nonisolated(unsafe) var event: OpaquePointer?
    private let isStopped = Atomic(false)

    /// - Throws: `TimerError` where the system refuses the descriptor.
    package init(_ base: OpaquePointer, _ clock: TimerClock) throws(TimerError) {
        alarm = try PollableAlarm(clock)
        unsafe self.base = base
    }

    package var now: TimerInstant { alarm.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        alarm.start(onFire: onFire, onFailure: onFailure)
        // The event holds the alarm until it is removed.
        let holder = unsafe Unmanaged.passRetained(self)
        let conditions = CShort(EV_READ | EV_PERSIST)
        let callback: event_callback_fn = { unsafe EventBaseAlarm.run($2) }
        unsafe event = event_new(base, alarm.descriptor, conditions, callback, holder.toOpaque())
        guard let event = unsafe event else {
            unsafe holder.release()
            throw TimerError(.systemRefused, "creating a libevent event")
        }
        guard unsafe event_add(event, nil) == 0 else {
            unsafe event_free(event)
            unsafe holder.release()
            throw TimerError(.systemRefused, "adding an event to a libevent base")
        }
    }

    /// Called by the loop.
    private static func run(_ argument: UnsafeMutableRawPointer?) {
        guard let argument = unsafe argument else { return }
        let holder = unsafe Unmanaged<EventBaseAlarm>.fromOpaque(argument)
        let alarm = unsafe holder.takeUnretainedValue()
        alarm.alarm.process()
        // Also where that has stopped it.
        guard alarm.isStopped.load(ordering: .acquiring), let event = unsafe alarm.event else { return }
        unsafe event_free(event)
        unsafe alarm.event = nil
        unsafe holder.release()
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        try alarm.set(deadline)
        // A setting that crossed a stop may have undone its wake-up.
        if isStopped.load(ordering: .acquiring) { alarm.wake() }
    }

    /// The event is removed by the loop, when it runs next: no other thread may.
    package func stop() {
        alarm.stop()
        isStopped.store(true, ordering: .releasing)
        alarm.wake()
    }
}
#endif
