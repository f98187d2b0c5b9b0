public import Dispatch
internal import TimerAlarms
public import TimerCore

/// Services on a loop or queue of the host's, which run handlers there and have no thread of their own.
extension TimerService {
    /// Starts a service on a Dispatch queue: handlers run on it, one after the other also where it is concurrent.
    ///
    /// - Parameters:
    ///   - queue: the queue. A block on it that does not return quickly makes timers late.
    ///   - clock: the clock that its deadlines are instants of; one that ``Backend/dispatch`` has.
    /// - Throws: `TimerError` where Dispatch cannot wait on that clock, or the system refuses what it needs.
    public convenience init(queue: DispatchQueue, clock: TimerClock = .suspending) throws(TimerError) {
        try Backend.dispatch.check(clock)
        try self.init(alarm: DispatchAlarm(clock, queue: queue))
    }

    /// Starts a service on a libevent loop: handlers run on the thread that runs the base.
    ///
    /// Call it on that thread, or before the base is run: it adds an event, which libevent allows no other thread unless the
    /// host called `evthread_use_pthreads`. The service itself may be used on any thread, with or without libevent's locks.
    ///
    /// The service counts as something to wait for: it keeps `event_base_dispatch` from returning until it is shut down,
    /// also while it has no timer. Its event is removed by the loop. So before the base is freed, shut the service down
    /// and let the loop run once more; or shut it down from inside a handler. A forked child that goes on with the base calls
    /// `event_reinit` first, as libevent asks; the timers are the parent's, and the child's loop drops them.
    ///
    /// - Parameters:
    ///   - eventBase: the host's `struct event_base *`, which has to outlive the service.
    ///   - clock: the clock that its deadlines are instants of.
    /// - Throws: `TimerError` where the system refuses a descriptor, or this build is one without the trait `Libevent`.
    public convenience init(
        attachedTo eventBase: OpaquePointer,
        clock: TimerClock = .suspending
    ) throws(TimerError) {
        try unsafe self.init(alarm: LibeventBackend.makeAlarm(attachedTo: eventBase, clock))
    }

    /// Timers for a loop of one's own, which waits for a descriptor and then calls ``PollableTimers/process()``.
    ///
    /// - Parameter clock: the clock that its deadlines are instants of.
    /// - Returns: a new service, its descriptor, and what to call.
    /// - Throws: `TimerError` where the system refuses the descriptor.
    public static func pollable(clock: TimerClock = .suspending) throws(TimerError) -> PollableTimers {
        try PollableTimers(clock)
    }
}
