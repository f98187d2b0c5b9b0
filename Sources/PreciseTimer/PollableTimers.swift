internal import TimerAlarms
internal import TimerCore

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
public final class PollableTimers: Sendable {
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

    /// Delivers the due ticks on the calling thread. Call it when the descriptor is readable. It is harmless at other
    /// times, from inside a handler, or while another thread is in it (the descriptor then stays readable).
    ///
    /// In a forked child it delivers nothing, and gives the descriptor's number to a timer that never expires, so
    /// that a loop over poll(2) or select(2) does not spin. An epoll(7) keeps the parent's timer: a child must remove
    /// the descriptor from its epoll before it calls this.
    public func process() { alarm.process() }
}
