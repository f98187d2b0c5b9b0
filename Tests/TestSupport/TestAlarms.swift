internal import CTimerKernel
internal import Dispatch
internal import PreciseTimer
internal import TimerAlarms
package import TimerKernel

#if RunLoop
package import Foundation
#else
internal import Foundation
#endif
#if Libevent
internal import CLibevent
#endif

/// An alarm that fires when a test asks it to, even after a stop, and records its settings.
package final class ManualAlarm: TimerAlarm {
    private struct State {
        var now = TimerInstant(nanoseconds: 1_000)
        var settings: [TimerInstant?] = []
        var onFire: (@Sendable () -> Void)?
        /// How long each reading of the clock takes.
        var step = Duration.zero
        /// Something that happens before a later reading of the clock.
        var event: (@Sendable () -> Void)?
        var readingsToEvent = 0
    }

    private let state = Lock(State())
    /// How many nanoseconds before its deadline it may fire.
    package let lead: UInt64

    package init(lead: UInt64 = 0) { self.lead = lead }

    package var now: TimerInstant {
        let event = state.withLock { state in
            state.readingsToEvent -= 1
            return state.readingsToEvent == 0 ? state.event.take() : nil
        }
        event?()
        return state.withLock { state in
            state.now = state.now.advanced(by: state.step)
            return state.now
        }
    }

    /// All settings, in order.
    package var settings: [TimerInstant?] { state.withLock { $0.settings } }

    package func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    package func set(_ deadline: TimerInstant?) { state.withLock { $0.settings.append(deadline) } }

    package func stop() {}

    package func move(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    /// From now on each reading of the clock moves it.
    package func moveWithEachReading(by step: Duration) { state.withLock { $0.step = step } }

    /// Lets something happen just before a later reading of the clock, which must not be made with a lock held.
    package func happen(before reading: Int, _ event: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.event = event
            state.readingsToEvent = reading
        }
    }

    package func fire() { state.withLock { $0.onFire }?() }
}

/// An alarm that refuses every setting after a given number of them, and fails when a test asks it to. If that number
/// is 0, its start is refused, too, unless the test says otherwise. It never fires.
package final class RefusingAlarm: TimerAlarm {
    package static let refusal = TimerError(.systemRefused, "refusing on purpose", errno: 12, systemMessage: "no luck")

    private struct State {
        var settings: Int
        var onFailure: (@Sendable (TimerError) -> Void)?
    }

    private let state: Lock<State>
    private let starts: Bool
    /// Called inside `start`, before it returns.
    private let onStart: @Sendable (RefusingAlarm) -> Void
    package let stops = Count()

    package init(
        settings: Int = .max,
        starts: Bool? = nil,
        onStart: @escaping @Sendable (RefusingAlarm) -> Void = { _ in }
    ) {
        state = Lock(State(settings: settings))
        self.starts = starts ?? (settings > 0)
        self.onStart = onStart
    }

    package var now: TimerInstant { TimerClock.suspending.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        state.withLock { $0.onFailure = onFailure }
        onStart(self)
        if !starts { throw Self.refusal }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        let isWilling = state.withLock { state in
            state.settings -= 1
            return state.settings >= 0
        }
        if !isWilling { throw Self.refusal }
    }

    package func fail() { state.withLock { $0.onFailure }?(Self.refusal) }

    package func stop() { stops.add(1) }
}

/// An attached alarm, with a thread that acts as its host and runs the loop.
final class HostedAlarm: TimerAlarm {
    private let alarm: any TimerAlarm
    private let run: @Sendable () -> Void
    private let stopped: Box<Bool>

    /// - Parameters:
    ///   - alarm: the attached alarm.
    ///   - stopped: receives a value when the alarm is stopped.
    ///   - run: runs the loop after the start, while the loop has events to wait for.
    private init(_ alarm: any TimerAlarm, stopped: Box<Bool> = Box(), run: @escaping @Sendable () -> Void) {
        self.alarm = alarm
        self.stopped = stopped
        self.run = run
    }

    var now: TimerInstant { alarm.now }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        try alarm.start(onFire: onFire, onFailure: onFailure)
        let run = run
        try TimerKernel.Thread.start("test.host") { run() }
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) { try alarm.set(deadline) }

    func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        try alarm.set(first, every: period)
    }

    func stop() {
        stopped.value = true
        alarm.stop()
    }

    #if RunLoop
    /// On a run loop, which the thread creates and hands out.
    static func onRunLoop() -> HostedAlarm {
        let host = HostRunLoop()
        return HostedAlarm(unsafe RunLoopAlarm(attachedTo: host.loop, mode: .default)) { host.run() }
    }
    #endif

    /// On a loop over poll(2).
    static func polled(_ clock: TimerClock) throws(TimerError) -> HostedAlarm {
        let alarm = try PollableAlarm(clock)
        let stopped = Box<Bool>()
        return HostedAlarm(alarm, stopped: stopped) {
            while stopped.value == nil {
                if Poll.isReadable(alarm.descriptor, within: 10) { alarm.process() }
            }
        }
    }

    #if Libevent
    /// On an event base, which is freed when its loop has returned.
    static func onEventBase(_ clock: TimerClock) throws(TimerError) -> HostedAlarm {
        let base = HostEventBase()
        return HostedAlarm(try unsafe EventBaseAlarm(base.base, clock)) { base.dispatch() }
    }
    #endif
}

/// Waits for one descriptor.
package enum Poll {
    /// Whether a descriptor is readable, or becomes readable within some milliseconds.
    package static func isReadable(_ descriptor: CInt, within milliseconds: CInt) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&request, 1, milliseconds) == 1
    }
}

/// An epoll that tells of each expiry once, to one of the threads that wait for it.
package final class EdgeTriggeredLoop: Sendable {
    private let epoll = epoll_create1(0)

    package init() {}
    deinit { close(epoll) }

    package func watch(_ descriptor: CInt) {
        var event = unsafe epoll_event()
        unsafe event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        _ = unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// Whether an expiry is told within some milliseconds.
    package func isTold(within milliseconds: CInt) -> Bool {
        var event = unsafe epoll_event()
        return unsafe epoll_wait(epoll, &event, 1, milliseconds) == 1
    }
}

#if RunLoop
/// A run loop of another thread. The thread runs it while a source is attached.
@safe
package final class HostRunLoop: Sendable {
    package nonisolated(unsafe) let loop: RunLoop
    private let isAttached = Gate()
    private let end = Gate()

    package init() {
        let (isMade, isAttached, end) = (Gate(), isAttached, end)
        nonisolated(unsafe) var made: RunLoop?
        Foundation.Thread.detachNewThread {
            unsafe made = RunLoop.current
            isMade.open()
            isAttached.pass()
            while RunLoop.current.run(mode: .default, before: .distantFuture) {}
            end.open()
        }
        isMade.pass()
        guard let made = unsafe made else { preconditionFailure("the thread has made its loop") }
        unsafe loop = made
    }

    /// Makes the thread run its loop, after a source has been attached.
    package func run() { isAttached.open() }

    /// Whether the loop has returned.
    package var hasReturned: Bool { end.isPassable }
}
#endif

#if Libevent
/// An event base of a program that does not care about timers: a coarse clock, cached time, no locks.
@safe
package final class HostEventBase: Sendable {
    package nonisolated(unsafe) let base: OpaquePointer
    private nonisolated(unsafe) var ready: OpaquePointer?

    package init() {
        guard let base = unsafe event_base_new() else { preconditionFailure("there are descriptors for an event base") }
        unsafe self.base = base
    }

    deinit {
        if let ready = unsafe ready { unsafe event_free(ready) }
        unsafe event_base_free(base)
    }

    /// Runs the loop until no event is left.
    package func dispatch() { _ = unsafe event_base_dispatch(base) }

    /// Runs the loop once, without waiting.
    package func runOnce() { _ = unsafe event_base_loop(base, EVLOOP_NONBLOCK) }

    /// Gives the base priorities, of which 0 is the highest. Returns false if libevent refuses.
    package func setPriorities(_ count: CInt) -> Bool { unsafe event_base_priority_init(base, count) == 0 }

    /// Adds an event of the highest priority for a descriptor that stays readable. It ends each run of the loop.
    package func watch(_ descriptor: CInt) -> Bool {
        let breakLoop: event_callback_fn = { unsafe event_base_loopbreak(OpaquePointer($2)) }
        let conditions = CShort(EV_READ | EV_PERSIST)
        unsafe ready = event_new(base, descriptor, conditions, breakLoop, UnsafeMutableRawPointer(base))
        guard let ready = unsafe ready else { return false }
        return unsafe event_priority_set(ready, 0) == 0 && event_add(ready, nil) == 0
    }
}
#endif
