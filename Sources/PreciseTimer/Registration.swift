internal import TimerAlarms

/// What a service keeps of one timer: whom the ticks go to, whether they still may, and how it ended.
///
/// Its lock is taken after the service's, never before it, and never held during a call of the user's.
final class Registration: Sendable {
    /// A place in the user's code.
    struct Place: Sendable {
        let file: StaticString
        let line: UInt
    }

    private struct State {
        /// Whom the ticks go to; nil once the timer has ended, but for a handler that was running then.
        var recipient: (any Recipient)?
        /// The timer's name in the scheduler, once it has one.
        var timer: TimerID?
        /// Whether the handler is running.
        var isDelivering = false
        /// Whether there has been a tick.
        var hasTicked = false
        /// How the timer ended.
        var ending: PreciseTimer.EndReason?

        /// Ends the timer if it has not ended. The recipient is handed out to be released, unless its handler is
        /// running: then `finish` does it.
        mutating func end(_ reason: PreciseTimer.EndReason) -> (isEnding: Bool, released: (any Recipient)?) {
            guard ending == nil else { return (false, nil) }
            ending = reason
            return (true, isDelivering ? nil : recipient.take())
        }

        /// The recipient, where a tick may start.
        mutating func begin() -> (any Recipient)? {
            guard let recipient else { return nil }
            isDelivering = true
            hasTicked = true
            return recipient
        }

        /// After the handler: ends the timer if there is a reason, and hands the recipient of an ended one out.
        mutating func finish(_ reason: PreciseTimer.EndReason?) -> (isEnding: Bool, released: (any Recipient)?) {
            isDelivering = false
            if let reason, ending == nil { return end(reason) }
            return (false, ending == nil ? nil : recipient.take())
        }
    }

    private let state: Lock<State>
    // The service holds what is registered; a service that is gone has no timers left.
    private weak let service: TimerService?
    /// Where a timer was scheduled whose handle is its target; nil for a timer with a target.
    private let handlePlace: Place?

    init(_ recipient: (any Recipient)?, on service: TimerService, scheduledAt handlePlace: Place? = nil) {
        state = Lock(State(recipient: recipient))
        self.service = service
        self.handlePlace = handlePlace
    }

    /// Names the recipient where it could not exist before the registration.
    func receive(with recipient: any Recipient) { state.withLock { $0.recipient = recipient } }

    /// Notes the timer's name in the scheduler. Called with the service's lock held.
    func admitted(as timer: TimerID) { state.withLock { $0.timer = timer } }

    /// Calls the handler, unless the timer has ended. Returns whether the timer ended by this, so that the service can
    /// forget it.
    func deliver(_ due: Due, woke: TimerInstant, readingClockOf alarm: any TimerAlarm) -> Bool {
        guard let recipient = state.withLock({ $0.begin() }) else { return false }
        let tick = PreciseTimer.Tick(
            index: due.index,
            deadline: due.deadline,
            woke: woke,
            delivered: alarm.now,
            missed: due.missed
        )
        let reason: PreciseTimer.EndReason? =
            if !recipient.deliver(tick) { reasonWhenTargetIsGone } else if due.isLast { .completed } else { nil }
        let (isEnding, released) = state.withLock { $0.finish(reason) }
        withExtendedLifetime(released) {}
        return isEnding
    }

    /// Ends the timer. True for the call that ended it.
    @discardableResult
    func end(_ reason: PreciseTimer.EndReason) -> Bool {
        guard let service, !service.isOfAnotherProcess else { return false }
        let (isEnding, released, timer) = state.withLock { state in
            let (isEnding, released) = state.end(reason)
            return (isEnding, released, state.timer)
        }
        if isEnding, let timer { service.forget(timer) }
        withExtendedLifetime(released) {}
        return isEnding
    }

    /// The handle of a timer without a target is gone.
    func handleReleased() {
        if end(.handleReleased) { assert(warnOfUntickedTimer()) }
    }

    /// How the timer stands; a target found gone ends it.
    var currentState: PreciseTimer.State {
        if service?.isOfAnotherProcess == true { return .ended(.backendFailed(.inForkedChild("reading a timer"))) }
        let (ending, recipient) = state.withLock { ($0.ending, $0.recipient) }
        if let ending { return .ended(ending) }
        if recipient?.isAlive != false { return .scheduled }
        end(reasonWhenTargetIsGone)
        return .ended(state.withLock { $0.ending } ?? reasonWhenTargetIsGone)
    }

    private var reasonWhenTargetIsGone: PreciseTimer.EndReason {
        handlePlace == nil ? .targetReleased : .handleReleased
    }

    /// Tells the developer of a handle that was dropped too early; true, so that it can be an assertion's condition and
    /// is there in debug builds only.
    private func warnOfUntickedTimer() -> Bool {
        if let handlePlace, state.withLock({ $0.timer != nil && !$0.hasTicked }) {
            StandardError.write(
                "PreciseTimer: \(handlePlace.file):\(handlePlace.line): the handle of this timer was dropped before its "
                    + "first tick, which ended the timer; keep the handle, or schedule with a target\n"
            )
        }
        return true
    }
}

extension TimerError {
    /// For whatever is asked of a parent's service in a forked child.
    static func inForkedChild(_ attempted: String) -> TimerError {
        TimerError(.forked, "\(attempted) (its service belongs to the parent process)")
    }
}
