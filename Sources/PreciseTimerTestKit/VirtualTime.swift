public import FoundationEssentials
public import PreciseTimer
internal import PreciseTimerExecutor
internal import TimerKernel

/// Time that stands still until a test moves it, with a service that runs on it.
///
/// The service is an ordinary one: it has the same scheduler and the same delivery, but its alarm fires when the
/// test moves time. When `advance(by:)` returns, every inline tick that was due has been delivered on the calling
/// thread. Ticks for queues and actors have arrived, too, if the test is asynchronous and awaits the call; in a
/// synchronous test they are then on their way, as usual.
///
/// ```swift
/// let virtual = VirtualTime()
/// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { model, tick in model.step() }
/// virtual.advance(by: .seconds(3600))      // 3,600 ticks, at once
/// #expect(virtual.pendingCount == 1)
/// ```
///
/// Only one thread at a time may move time: anything else is a programming error. A handler may move it, too. Time
/// then only passes, as if the handler took that long. If it passes the end of the `advance` or `jump` that called the
/// handler, deadlines up to that end are still delivered before that call returns. Later ones come with the next call
/// at the latest.
///
/// A timer whose target has been released ends at its next deadline. If that deadline is far away, or the timer is
/// paused, the timer ends when time has moved by a second since the last search for such timers.
public final class VirtualTime: Sendable {
    /// Faults of a real alarm and a real clock.
    public enum Fault: Hashable, Sendable {
        /// The next firing comes this much after its deadline.
        case wakeLate(by: Duration)
        /// The next firing comes this much before its deadline.
        case wakeEarly(by: Duration)
        /// The machine stands still for this long: nothing fires, and the deadlines in between are late.
        case stall(Duration)
        /// The clock is set, forward or back; only for a wall clock.
        case stepClock(by: Duration)
        /// The system is suspended for this long, and `suspensions` of its service reports it. A suspending clock
        /// stands still; the other clocks go on, so that the deadlines in between are late.
        case suspend(Duration)
    }

    /// The service on this time.
    public let service: TimerService
    let alarm: VirtualAlarm
    /// The time at which it was created.
    let start: TimerInstant
    /// The executor, once it was asked for.
    let madeExecutor = Lock<TimerExecutor?>(nil)
    /// Whether a `run` moves time.
    let isRunning = Lock(false)

    /// Creates virtual time that stands at one second after its clock's origin; on the wall clock, at the beginning
    /// of 2026 (UTC).
    ///
    /// - Parameters:
    ///   - clock: the clock of its service.
    ///   - seed: determines the random phases of timers with a spread, which are thus the same in each run of a test.
    public convenience init(clock: TimerClock = .suspending, seed: UInt64 = 0) {
        self.init(on: VirtualAlarm(clock: clock), seed: seed)
    }

    /// Creates virtual time that stands at an instant of your choice.
    ///
    /// - Parameters:
    ///   - clock: the clock of its service; nil for that of the instant. Another clock is a programming error.
    ///   - start: the first instant, which must not be never.
    ///   - seed: as without a start.
    public convenience init(clock: TimerClock? = nil, at start: TimerInstant, seed: UInt64 = 0) {
        precondition(clock ?? start.clock == start.clock, "virtual time cannot begin at an instant of another clock")
        precondition(!start.isNever, "virtual time cannot begin at an instant that never comes")
        self.init(on: VirtualAlarm(at: start), seed: seed)
    }

    private init(on alarm: VirtualAlarm, seed: UInt64) {
        self.alarm = alarm
        start = alarm.now
        do throws(TimerError) {
            service = try TimerService(unsupervised: alarm, seed: seed)
        } catch {
            preconditionFailure("a virtual alarm needs nothing that could be refused: \(error)")
        }
    }

    /// The current virtual time.
    public var now: TimerInstant { alarm.now }

    /// Virtual time as a Swift `Clock`, for code that takes one.
    public var clock: TimerServiceClock { service.clock }

    /// The number of the service's timers that have not ended, without the one of ``executor``.
    public var pendingCount: Int { service.pendingCount - madeExecutor.withLock { $0 == nil ? 0 : 1 } }

    /// When the service's next round will begin; nil if no deadline will come.
    public var nextDeadline: TimerInstant? { service.nextWakeTime }

    /// Moves time forward and stops at every deadline on the way, so that each tick is delivered exactly when it
    /// is due.
    ///
    /// Deadlines at the instant of arrival are included; `advance(by: .zero)` delivers the ticks that are due now.
    /// If a handler always schedules another timer for now, this method does not return, just as a real service
    /// would stay busy.
    ///
    /// This form is for synchronous code. At the top level of `main.swift` the compiler chooses it even after `await`,
    /// and refuses it: await the other form in a function.
    ///
    /// - Parameter duration: the length of time, which must not be negative.
    @available(
        *,
        noasync,
        message: "use the async form (at the top level, in a function of your own), or advanceWithoutSettling(by:)"
    )
    public func advance(by duration: Duration) { advanceWithoutSettling(by: duration) }

    /// The synchronous `advance(by:)`, by a name that an asynchronous test can call. Ticks for queues and actors are
    /// on their way when it returns, and further ticks of their timers were merged into them.
    ///
    /// - Parameter duration: the length of time, which must not be negative.
    public func advanceWithoutSettling(by duration: Duration) {
        precondition(duration >= .zero, "time does not move back")
        alarm.advance(by: duration)
        endTimersOfDeadTargets()
    }

    /// Moves time forward in one step, as on a stalled machine: the deadlines on the way are served on
    /// arrival, late.
    ///
    /// - Parameter duration: the length of time, which must not be negative.
    public func jump(by duration: Duration) {
        precondition(duration >= .zero, "time does not move back")
        alarm.jump(by: duration)
        endTimersOfDeadTargets()
    }

    /// Ends timers with released targets if a second has passed since the last search. On a real clock a thread of
    /// the library does this.
    func endTimersOfDeadTargets() {
        if alarm.isTimeToSweep() { service.endTimersOfDeadTargets() }
    }

    /// Injects a fault, which happens when time has moved by the delay.
    ///
    /// ```swift
    /// virtual.inject(.wakeLate(by: .milliseconds(3)))                 // the next firing
    /// virtual.inject(.stall(.seconds(2)), after: .seconds(60))        // a minute from now
    /// virtual.advance(by: .seconds(120))
    /// ```
    ///
    /// If a stall or a suspension begins before the end of an `advance` and lasts beyond it, the `advance` ends with
    /// it.
    ///
    /// - Parameters:
    ///   - fault: the fault. Its length must not be negative, except for a step of the clock.
    ///   - delay: the time from now to the fault, which must not be negative.
    public func inject(_ fault: Fault, after delay: Duration = .zero) {
        precondition(delay >= .zero, "time does not move back")
        switch fault {
        case .wakeLate(let length), .wakeEarly(let length), .stall(let length), .suspend(let length):
            precondition(length >= .zero, "the length of a fault is not negative")
        case .stepClock:
            precondition(now.clock == .wall, "only a wall clock can be set")
        }
        alarm.inject(fault, after: delay)
    }
}

/// The ticks that a test has seen, as a target of timers. A failed expectation shows their deadlines as durations since
/// the start of virtual time.
///
/// ```swift
/// let log = TickLog(virtual)
/// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in log.note(tick) }
/// virtual.advance(by: .seconds(2))
/// #expect(log.deadlines == [.seconds(1), .seconds(2)], "\(virtual)")
/// ```
///
/// All members may be used from any thread. A timer does not retain its log, so the test must hold it.
public final class TickLog: Sendable {
    private let start: TimerInstant
    private let noted = Lock([PreciseTimer.Tick]())

    /// An empty log of ticks on virtual time.
    public init(_ virtual: VirtualTime) { start = virtual.start }

    /// Adds a tick. Constant time, amortised.
    public func note(_ tick: PreciseTimer.Tick) { noted.withLock { $0.append(tick) } }

    /// The ticks, in the order of `note`. O(n) for n ticks, as are the others.
    public var ticks: [PreciseTimer.Tick] { noted.withLock { $0 } }

    /// When the ticks were due, since the start of virtual time.
    public var deadlines: [Duration] { ticks.map { start.duration(to: $0.deadline) } }

    /// How many further deadlines each tick stands for.
    public var missed: [Int] { ticks.map(\.missed) }
}

extension VirtualTime {
    /// Creates virtual time of the wall clock that stands at a date of your choice.
    ///
    /// ```swift
    /// import Foundation
    ///
    /// let virtual = VirtualTime(clock: .wall, at: Date(timeIntervalSince1970: 1_798_761_600))      // 2027 begins
    /// ```
    ///
    /// - Parameters:
    ///   - clock: the wall clock. Another one has no dates, and is a programming error.
    ///   - date: the first instant; before 1970, the beginning of 1970. A date that is too far away to be an instant,
    ///     such as `distantFuture`, is a programming error.
    ///   - seed: determines the random phases of timers with a spread.
    public convenience init(clock: TimerClock = .wall, at date: Date, seed: UInt64 = 0) {
        self.init(clock: clock, at: TimerInstant(secondsSince2001: date.timeIntervalSinceReferenceDate), seed: seed)
    }
}
