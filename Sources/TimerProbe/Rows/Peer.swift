internal import Dispatch
internal import HostSystem
package import PreciseTimer
internal import TimerResults

/// Repeating timers as one would write them without the library.
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
        case .foundationTimer: "a repeating Foundation Timer on its own run loop"
        case .taskSleep: "a task that sleeps until start + k × period, with Task.sleep(until:)"
        case .asyncTimer: "AsyncTimerSequence of swift-async-algorithms"
        case .libevent: "a persistent event (EV_PERSIST) on a plain libevent base"
        case .libeventPrecise: "the same on a base with EVENT_BASE_FLAG_PRECISE_TIMER"
        }
    }
}

extension Peer {
    /// Whether the peer is part of this build.
    package var availability: TimerService.Backend.Availability {
        switch self {
        case .dispatchSource, .dispatchAfter, .foundationTimer, .taskSleep, .asyncTimer: .available
        case .libevent, .libeventPrecise: TimerService.Backend.libevent.availability
        }
    }

    /// The peers of this build.
    package static var available: [Peer] { allCases.filter { $0.availability == .available } }

    /// Why the peer cannot tick with a period; nil if it can.
    func problem(period: Duration) -> String? {
        // Foundation's intervals are seconds of type `Double`. It ends the process if one is below a nanosecond.
        guard self == .foundationTimer, period < .microseconds(1) else { return nil }
        return "Foundation's timers are unreliable with a period below 1 µs"
    }

    /// Whether handlers can run at a place.
    func runs(_ place: HandlerPlace) -> Bool {
        switch self {
        case .dispatchSource, .dispatchAfter: true
        case .foundationTimer, .taskSleep, .asyncTimer: place != .queue
        case .libevent, .libeventPrecise: place == .inline
        }
    }

    /// The time from the start to the first deadline that the peer needs, beyond the time of every row.
    func lead(period: Duration) -> Duration {
        switch self {
        case .asyncTimer, .libevent, .libeventPrecise: period
        case .dispatchSource, .dispatchAfter, .foundationTimer, .taskSleep: .zero
        }
    }

    /// Starts a timer for each probe. All timers end with `stop()`, and with the returned value.
    ///
    /// - Throws: `SystemError` if this build lacks the peer, or the system refuses its resources. Nothing ticks then.
    func start(_ probes: [Probe], deliver place: HandlerPlace) throws(SystemError) -> any Ticking {
        switch self {
        case .dispatchSource:
            let queue = try Self.queue(place)
            return PeerTimers(timers: probes.map { DispatchSourcePeer($0, on: queue) })
        case .dispatchAfter:
            let queue = try Self.queue(place)
            return PeerTimers(timers: probes.map { DispatchAfterPeer($0, on: queue) })
        case .foundationTimer: return try FoundationTimersPeer(probes, deliver: place)
        case .taskSleep: return PeerTimers(timers: probes.map { TaskSleepPeer($0, deliver: place) })
        case .asyncTimer: return PeerTimers(timers: probes.map { AsyncTimerPeer($0, deliver: place) })
        case .libevent: return try LibeventPeer(probes, isPrecise: false)
        case .libeventPrecise: return try LibeventPeer(probes, isPrecise: true)
        }
    }

    private static func queue(_ place: HandlerPlace) throws(SystemError) -> DispatchQueue {
        // An epoll, an event and a timer for Dispatch's event loop, and one more for a moment. Dispatch ends the
        // process if it cannot open them. If its timers do not fire although it could, the row falls silent.
        try Descriptors.check(4, for: "starting a Dispatch timer")
        // Dispatch waits without end for a thread that the system refuses.
        try KernelThread.start("peer.dispatch") {}
        return place == .main ? .main : DispatchQueue(label: "compare-backends.peer", qos: .userInteractive)
    }
}

/// The timers of a peer in one turn, if each timer ticks by itself and cannot fail.
struct PeerTimers: Ticking {
    let timers: [any Ticking]

    func stop() { for timer in timers { timer.stop() } }
}
