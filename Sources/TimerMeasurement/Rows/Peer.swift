internal import Dispatch
package import PreciseTimer
internal import TimerAlarms
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
    /// Whether it is part of this build.
    package var availability: TimerService.Backend.Availability {
        switch self {
        case .dispatchSource, .dispatchAfter, .foundationTimer, .taskSleep, .asyncTimer: .available
        case .libevent, .libeventPrecise: TimerService.Backend.libevent.availability
        }
    }

    /// Those of this build.
    package static var available: [Peer] { allCases.filter { $0.availability == .available } }

    /// Why it cannot tick with such a period; nil where it can.
    func obstacle(period: UInt64) -> String? {
        guard self == .foundationTimer, period < FoundationTimersPeer.shortestPeriod else { return nil }
        return "Foundation's timers are not to be trusted with a period below 1 µs"
    }

    /// Whether its handlers can be had to run there.
    func runs(_ place: HandlerPlace) -> Bool {
        switch self {
        case .dispatchSource, .dispatchAfter: true
        case .foundationTimer, .taskSleep, .asyncTimer: place != .queue
        case .libevent, .libeventPrecise: place == .inline
        }
    }

    /// Nanoseconds that it has to be started before the first deadline, beyond what every row is.
    func lead(period: UInt64) -> UInt64 {
        switch self {
        case .asyncTimer, .libevent, .libeventPrecise: period
        case .dispatchSource, .dispatchAfter, .foundationTimer, .taskSleep: 0
        }
    }

    /// Starts a timer for each probe; all of them end with a `stop()`, and with the value that is returned.
    ///
    /// - Throws: `TimerError` where this build lacks the peer or the system refuses what it needs; nothing ticks then.
    func start(_ probes: [Probe], deliver place: HandlerPlace) throws(TimerError) -> any Ticking {
        switch self {
        case .dispatchSource:
            try DispatchPreflight.check(.suspending)
            let queue = Self.queue(place)
            return PeerTimers(timers: probes.map { DispatchSourcePeer($0, on: queue) })
        case .dispatchAfter:
            try DispatchPreflight.check(.suspending)
            let queue = Self.queue(place)
            return PeerTimers(timers: probes.map { DispatchAfterPeer($0, on: queue) })
        case .foundationTimer: return try FoundationTimersPeer(probes, deliver: place)
        case .taskSleep: return PeerTimers(timers: probes.map { TaskSleepPeer($0, deliver: place) })
        case .asyncTimer: return PeerTimers(timers: probes.map { AsyncTimerPeer($0, deliver: place) })
        case .libevent: return try LibeventPeer(probes, isPrecise: false)
        case .libeventPrecise: return try LibeventPeer(probes, isPrecise: true)
        }
    }

    private static func queue(_ place: HandlerPlace) -> DispatchQueue {
        place == .main ? .main : DispatchQueue(label: "compare-backends.peer", qos: .userInteractive)
    }
}
