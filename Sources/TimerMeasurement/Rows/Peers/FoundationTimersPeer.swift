internal import Dispatch
internal import Foundation
internal import TimerAlarms
internal import TimerCore

/// Repeating Foundation timers, on a run loop of a thread of their own or on the main one.
final class FoundationTimersPeer: Ticking {
    /// A shorter period is refused: Foundation's intervals are seconds of type `Double`, and it ends the process where one
    /// is below a nanosecond.
    static let shortestPeriod: UInt64 = 1000

    private let timers: [FoundationTimer]

    /// - Throws: `TimerError` where the period is too short, or the system refuses the thread or what a run loop needs.
    init(_ probes: [Probe], deliver place: HandlerPlace) throws(TimerError) {
        if probes.contains(where: { $0.deadlines.period < Self.shortestPeriod }) {
            throw TimerError(.invalidSchedule, "starting a Foundation timer with a period below 1 µs")
        }
        // Foundation ends the process where it cannot open the descriptors of a loop.
        try SpareDescriptors.check(8)
        let timers = probes.map(FoundationTimer.init)
        self.timers = timers
        if place == .main {
            for timer in timers { timer.add(to: .main) }
        } else {
            try Self.startThread(timers)
        }
    }

    deinit { stop() }

    /// Returns when the thread's loop has its timers.
    private static func startThread(_ timers: [FoundationTimer]) throws(TimerError) {
        let hasLoop = DispatchSemaphore(value: 0)
        try Thread.start("peer.runloop") {
            let loop = RunLoop.current
            for timer in timers { timer.add(to: loop) }
            hasLoop.signal()
            // It ends when the last timer is invalid.
            while timers.contains(where: \.isValid), loop.run(mode: .default, before: .distantFuture) {}
        }
        hasLoop.wait()
    }

    /// Foundation has no way to say that a timer does not work.
    var failure: TimerError? { nil }

    func stop() { for timer in timers { timer.stop() } }
}

/// One of them.
///
/// Foundation keeps every timer, with all that its block captures, for ever: so the block knows this by a weak reference.
@safe
private final class FoundationTimer: Sendable {
    private let probe: Probe
    private let isStopped = StopFlag()
    // Set once, before anyone else knows of this object, and locked by Foundation.
    private nonisolated(unsafe) let timer: Timer

    init(_ probe: Probe) {
        self.probe = probe
        let link = Link()
        unsafe timer = Timer(
            fire: Self.date(of: probe.deadlines.start),
            interval: Double(probe.deadlines.period) / 1_000_000_000,
            repeats: true
        ) { timer in
            let now = KernelClock.now(.suspending)
            guard let owner = link.owner else { return timer.invalidate() }
            owner.tick(at: now)
        }
        link.set(self)
    }

    var isValid: Bool { unsafe timer.isValid }

    func add(to loop: RunLoop) { unsafe loop.add(timer, forMode: .default) }

    private func tick(at now: TimerInstant) {
        guard !isStopped.isSet, probe.record(at: now, .deadlines) else { return unsafe timer.invalidate() }
    }

    func stop() {
        isStopped.set()
        // Wakes the loop, which then finds the timer gone, or fires it before it is gone.
        unsafe timer.fireDate = .distantPast
        unsafe timer.invalidate()
    }

    /// A date as far away as the instant is now.
    private static func date(of instant: TimerInstant) -> Date {
        let now = KernelClock.now(.suspending)
        let wall = KernelClock.now(.wall).moved(by: max(instant, now).nanoseconds - now.nanoseconds)
        return Date(timeIntervalSince1970: Double(wall.nanoseconds) / 1_000_000_000)
    }
}

/// What a timer's block holds for ever.
private final class Link: Sendable {
    private let weakOwner = Lock<WeakOwner>(WeakOwner())

    private struct WeakOwner {
        weak var owner: FoundationTimer?
    }

    var owner: FoundationTimer? { weakOwner.withLock { $0.owner } }

    func set(_ owner: FoundationTimer) { weakOwner.withLock { $0.owner = owner } }
}
