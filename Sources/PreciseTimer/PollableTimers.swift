internal import TimerAlarms
internal import TimerCore

/// Timers for a loop of one's own that waits for descriptors, with poll(2), epoll(7) or a library over them.
///
/// ```swift
/// let timers = try TimerService.pollable()
/// try PreciseTimer.schedule(.every(.milliseconds(10)), on: timers.service, target: model) { model, tick in … }
/// // in the loop, beside one's own descriptors:
/// //     poll for POLLIN on timers.descriptor, and when it has come:
/// timers.process()
/// ```
///
/// Handlers run inside of ``process()``, on the loop's thread. Scheduling and cancelling may happen on any thread: an
/// earlier deadline wakes the loop. There is no other thread.
public final class PollableTimers: Sendable {
    /// The service on which to schedule. Shut it down, or let go of it and of its timers, to be done with it.
    public let service: TimerService
    private let alarm: PollableAlarm

    init(_ clock: TimerClock) throws(TimerError) {
        alarm = try PollableAlarm(clock)
        service = try TimerService(alarm: alarm)
    }

    /// Readable when something is due. Close-on-exec and non-blocking. It is closed when this object and the service have
    /// ended: stop waiting for it before. Not to be read: ``process()`` does that, and does not mind if it was.
    public var descriptor: CInt { alarm.descriptor }

    /// Delivers what is due, on the calling thread. To be called when the descriptor is readable; harmless at other times,
    /// from inside a handler, or while another thread is in it (the descriptor stays readable then).
    ///
    /// In a forked child it delivers nothing. It then gives the descriptor's number to a timer that never expires, so that a
    /// loop over poll(2) or select(2) does not spin. An epoll(7) keeps the parent's timer: a child removes the descriptor
    /// from its epoll before it calls this.
    public func process() { alarm.process() }
}
