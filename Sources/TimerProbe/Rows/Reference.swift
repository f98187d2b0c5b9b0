internal import HeapModule
package import HostSystem
package import PreciseTimer

/// Bare loops of system calls. The backends are compared with them.
package enum Reference: String, CaseIterable, Sendable {
    /// A loop of absolute `clock_nanosleep`.
    case nanosleep = "floor-nanosleep"
    /// A loop that sets a timerfd and reads it.
    case timerFD = "floor-timerfd"

    /// One line for the list of rows.
    package var summary: String {
        switch self {
        case .nanosleep: "a bare loop of absolute clock_nanosleep, with 1 ns timer slack"
        case .timerFD: "a bare loop that sets a timerfd and reads it; the floor of the ratios"
        }
    }
}

/// The thread of a reference. It always waits for the earliest deadline of all timers.
///
/// It finds the passed deadlines by division, and goes on with the first future one, as the library does.
package final class ReferenceLoop: Ticking {
    private let isStopped = StopFlag()

    /// Starts the thread with the options of the backends' threads, which set a timer slack of 1 ns unless they say
    /// otherwise. A timerfd that is refused later shows as early ticks, which are reported.
    init(
        _ reference: Reference,
        _ probes: [Probe],
        thread: TimerService.ThreadOptions = .init()
    ) throws(SystemError) {
        let isStopped = isStopped
        switch reference {
        case .nanosleep:
            try KernelThread.start("floor.nanosleep") {
                TimerSlack.nanoseconds = 1
                _ = try? thread.applyToCallingThread()
                Self.loop(probes, isStopped) { SystemClock.sleep(until: $0) }
            }
        case .timerFD:
            let timer = try BareTimer(SystemClock(probes[0].deadlines.start.clock))
            try KernelThread.start("floor.timerfd") {
                _ = try? thread.applyToCallingThread()
                Self.loop(probes, isStopped) { timer.wait(until: $0.nanoseconds) }
            }
        }
    }

    package func stop() { isStopped.set() }

    /// The work of the thread.
    ///
    /// - Parameters:
    ///   - probes: one probe for each timer, all on one clock.
    ///   - isStopped: read after each wait.
    ///   - wait: waits for a deadline.
    ///   - now: reads the clock of the deadlines.
    package static func loop(
        _ probes: [Probe],
        _ isStopped: StopFlag,
        waitingBy wait: (TimerInstant) -> Void,
        readingBy now: (TimerClock) -> TimerInstant = SystemClock.now
    ) {
        // This is not the library's queue: a floor contains no part of the library.
        var queue = Heap(probes.enumerated().map { Next(nanoseconds: $1.nextDeadline.nanoseconds, timer: $0) })
        var last: UInt64 = 0
        while let next = queue.min {
            let (probe, clock) = (probes[next.timer], probes[next.timer].deadlines.start.clock)
            // A deadline that had passed at the last reading is served without another wait, as the library does.
            if next.nanoseconds > last { wait(TimerInstant(nanoseconds: next.nanoseconds, clock: clock)) }
            if isStopped.isSet { return }
            let now = now(clock)
            last = now.nanoseconds
            if probe.record(at: now, .deadlines) {
                queue.replaceMin(with: Next(nanoseconds: probe.nextDeadline.nanoseconds, timer: next.timer))
            } else {
                queue.removeMin()
            }
        }
    }

    /// A timer's next deadline.
    private struct Next: Comparable {
        let nanoseconds: UInt64
        let timer: Int

        static func < (first: Next, second: Next) -> Bool {
            (first.nanoseconds, first.timer) < (second.nanoseconds, second.timer)
        }
    }
}
