public import Dispatch
internal import TimerAlarms
public import TimerKernel

/// Services without a thread, on a loop or queue of the host that runs their handlers.
extension TimerService {
    /// Starts a service on a Dispatch queue. Handlers run on it, one after the other even if the queue is concurrent.
    ///
    /// - Parameters:
    ///   - queue: the queue. A block on it that does not return quickly makes timers late.
    ///   - clock: the clock of its deadlines; one that ``Backend/dispatch`` supports.
    /// - Throws: `TimerError` if Dispatch cannot wait on that clock, or the system refuses a resource.
    public convenience init(queue: DispatchQueue, clock: TimerClock = .suspending) throws(TimerError) {
        try Backend.dispatch.check(clock)
        try self.init(alarm: DispatchAlarm(clock, queue: queue))
    }

    /// Starts a service on a libevent loop. Handlers run on the thread that runs the base.
    ///
    /// Call this on that thread, or before the base runs. It adds an event, which libevent allows on other threads
    /// only if the host called `evthread_use_pthreads`. The service itself may be used on any thread, with or without
    /// libevent's locks. It waits for a timerfd, and is as precise on a base without
    /// `EVENT_BASE_FLAG_PRECISE_TIMER`. That base's own events come in steps of the kernel's timer interrupt. On a base
    /// with priorities its event has the highest one, 0.
    ///
    /// Until it is shut down, the service counts as an event to wait for: it keeps `event_base_dispatch` from
    /// returning, even without a timer. The loop removes the service's event. So before you free the base, shut the
    /// service down and let the loop run once more, or shut it down from inside a handler. A forked child that goes
    /// on with the base calls `event_reinit` first, as libevent requires. The timers belong to the parent, and the
    /// child's loop drops them.
    ///
    /// - Parameters:
    ///   - eventBase: the host's `struct event_base *`, which must outlive the service.
    ///   - clock: the clock of its deadlines.
    /// - Throws: `TimerError` if the system refuses a descriptor, or if the package was built without the
    ///   trait `Libevent`.
    public convenience init(attachedTo eventBase: OpaquePointer, clock: TimerClock = .suspending) throws(TimerError) {
        try unsafe self.init(alarm: LibeventBackend.makeAlarm(attachedTo: eventBase, clock))
    }

    /// Timers for your own loop, which waits for a descriptor and then calls ``PollableTimers/process()``.
    ///
    /// - Parameter clock: the clock of its deadlines.
    /// - Returns: a new service, its descriptor, and the method to call.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    public static func pollable(clock: TimerClock = .suspending) throws(TimerError) -> PollableTimers {
        try PollableTimers(clock)
    }
}

/// Timers for your own loop, if it waits for descriptors with poll(2), epoll(7) or a library on top of them.
///
/// ```swift
/// let timers = try TimerService.pollable()
/// try PreciseTimer.schedule(.every(.milliseconds(10)), on: timers.service, target: model) { model, tick in … }
/// // In the loop, poll for POLLIN on timers.descriptor beside your own descriptors; when it is readable:
/// timers.process()
/// ```
///
/// Handlers run inside ``process()``, on the loop's thread. Scheduling and cancelling are allowed on any thread: an
/// earlier deadline wakes the loop. No other thread delivers ticks.
public final class PollableTimers: Sendable, CustomStringConvertible, CustomReflectable {
    /// The service to schedule on. To end it, shut it down, or release it and its timers.
    public let service: TimerService
    private let alarm: PollableAlarm

    init(_ clock: TimerClock) throws(TimerError) {
        alarm = try PollableAlarm(clock)
        service = try TimerService(alarm: alarm)
    }

    /// Readable when a timer is due. Close-on-exec and non-blocking. It is closed when this object and the
    /// service have ended: stop waiting for it before that. Do not read it: ``process()`` does, and an earlier
    /// read is harmless.
    public var descriptor: CInt { alarm.descriptor }

    /// The descriptor and the service.
    public var description: String { "descriptor \(descriptor) of \(service.title)" }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Delivers the due ticks on the calling thread. Call it when the descriptor is readable. If nothing is due, it
    /// costs a reading of the clock, and on the wall clock a system call. It is harmless at other times, from inside a
    /// handler, or while another thread is in it: it then returns at once, and the descriptor becomes readable again
    /// when the other call has delivered. So several threads may wait in one epoll(7), level- or edge-triggered
    /// (`EPOLLET`).
    ///
    /// In a forked child it delivers nothing, and gives the descriptor's number to a timer that never expires, so
    /// that a loop over poll(2) or select(2) does not spin. An epoll(7) keeps the parent's timer: a child must remove
    /// the descriptor from its epoll before it calls this.
    public func process() { alarm.process() }
}
