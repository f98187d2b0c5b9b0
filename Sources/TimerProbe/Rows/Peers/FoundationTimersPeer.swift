internal import Dispatch
internal import Foundation
internal import HostSystem
internal import PreciseTimer
internal import TimerResults

/// Repeating Foundation timers, on a run loop of their own thread or on the main run loop.
final class FoundationTimersPeer: Ticking {
    private let timers: [FoundationTimer]

    /// - Throws: `SystemError` if the system refuses the thread or the resources of a run loop.
    init(_ probes: [Probe], deliver place: HandlerPlace) throws(SystemError) {
        // Foundation ends the process if it cannot open the descriptors of a loop.
        try Descriptors.check(8, for: "starting a run loop")
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
    private static func startThread(_ timers: [FoundationTimer]) throws(SystemError) {
        let hasLoop = DispatchSemaphore(value: 0)
        try KernelThread.start("peer.runloop") {
            let loop = RunLoop.current
            for timer in timers { timer.add(to: loop) }
            hasLoop.signal()
            // The thread ends when the last timer is invalid.
            while timers.contains(where: \.isValid), loop.run(mode: .default, before: .distantFuture) {}
        }
        hasLoop.wait()
    }

    func stop() { for timer in timers { timer.stop() } }
}

/// One timer.
///
/// Foundation never releases a timer and the captures of its block. So the block has only a weak reference to this
/// object.
@safe
private final class FoundationTimer: Sendable {
    private let probe: Probe
    private let isStopped = StopFlag()
    // Set once, in the initialiser. Foundation locks the timer.
    private nonisolated(unsafe) var timer: Timer?

    init(_ probe: Probe) {
        self.probe = probe
        unsafe timer = Timer(
            fire: Self.date(of: probe.deadlines.start),
            interval: Double(probe.deadlines.period) / 1_000_000_000,
            repeats: true
        ) { [weak self] timer in
            let now = SystemClock.now(.suspending)
            if self?.tick(at: now) != true { timer.invalidate() }
        }
    }

    var isValid: Bool { unsafe timer?.isValid == true }

    func add(to loop: RunLoop) { unsafe timer.map { loop.add($0, forMode: .default) } }

    /// Returns whether more ticks are wanted.
    private func tick(at now: TimerInstant) -> Bool { !isStopped.isSet && probe.record(at: now, .deadlines) }

    func stop() {
        isStopped.set()
        // This wakes the loop, which then removes the timer, or fires it once more before.
        unsafe timer?.fireDate = .distantPast
        unsafe timer?.invalidate()
    }

    /// The date that is as far away now as the instant.
    private static func date(of instant: TimerInstant) -> Date {
        let left = SystemClock.now(.suspending).duration(to: instant)
        return Date(timeIntervalSinceNow: max(left, .zero) / .seconds(1))
    }
}
