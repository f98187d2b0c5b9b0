package import PreciseTimer
internal import TimerCore

/// What one would write without the library.
package enum Peer: String, CaseIterable, Sendable {
    case dispatchSource = "peer-dispatch-source"
    case dispatchAfter = "peer-dispatch-after"
    case foundationTimer = "peer-foundation-timer"
    case taskSleep = "peer-task-sleep"
    case asyncTimer = "peer-async-timer"
    case libevent = "peer-libevent"
    case libeventPrecise = "peer-libevent-precise"

    /// One line for the list of rows.
    package var summary: String {
        switch self {
        case .dispatchSource: "a repeating DispatchSourceTimer with zero leeway, strict"
        case .dispatchAfter: "a chain of DispatchQueue.asyncAfter, each a period from now"
        case .foundationTimer: "a repeating Foundation Timer on a run loop of its own"
        case .taskSleep: "a task that sleeps until start + k × period, with Task.sleep(until:)"
        case .asyncTimer: "AsyncTimerSequence of swift-async-algorithms"
        case .libevent: "a persistent event (EV_PERSIST) on a plain libevent base"
        case .libeventPrecise: "the same on a base with EVENT_BASE_FLAG_PRECISE_TIMER"
        }
    }

    /// The backend that a reader would hold it against.
    package var backend: TimerService.Backend {
        switch self {
        case .dispatchSource, .dispatchAfter: .dispatch
        case .foundationTimer: .runLoop
        // Both wait on the concurrency runtime, which no backend does: against the default one.
        case .taskSleep, .asyncTimer: .timerFD
        case .libevent, .libeventPrecise: .libevent
        }
    }
}

extension Peer {
    /// Starts a timer for each probe.
    func start(_ probes: [Probe], deliver place: HandlerPlace) throws(TimerError) -> any Ticking {
        throw TimerError(.unavailable, "starting \(rawValue)")
    }
}
