import PreciseTimer
import TestSupport

/// A periodic timer, with all its ticks and endings.
final class ProbedTimer: Sendable {
    private let log = Log()
    private let running = Count()
    private let overlaps = Count()
    private let ends = Notes<String>()
    private let failures = Notes<String>()
    private let period: Duration
    private let keepsGrid: Bool
    let handle: PreciseTimer

    init(
        every period: Duration,
        after delay: Duration? = nil,
        _ policy: PreciseTimer.MissedTickPolicy,
        deliver: PreciseTimer.Delivery = .inline,
        on service: TimerService
    ) throws(TimerError) {
        self.period = period
        keepsGrid = policy != .delay
        let (ends, failures, running, overlaps) = (ends, failures, running, overlaps)
        handle = try PreciseTimer.schedule(
            .every(period, after: delay),
            on: service,
            missedTicks: policy,
            deliver: deliver,
            target: log,
            onEnd: { reason in
                if case .backendFailed(let error) = reason {
                    failures.append(error.description)
                    ends.append(error.code.name)
                } else {
                    ends.append("\(reason)")
                }
            },
            handler: { log, tick in
                if running.add(1) > 1 { overlaps.add(1) }
                log.note(tick)
                running.add(-1)
            }
        )
    }

    var hasEnded: Bool { !ends.all.isEmpty }

    /// The number of deadlines that the ticks stand for.
    var accounted: UInt64 { log.ticks.last.map { UInt64($0.index + 1 + $0.missed) } ?? 0 }

    var report: ProbeReport.Timer {
        let ticks = log.ticks
        return ProbeReport.Timer(
            ticks: ticks.map { tick in
                ProbeReport.Tick(
                    index: UInt64(tick.index),
                    missed: UInt64(tick.missed),
                    deadline: tick.deadline.nanoseconds,
                    woke: tick.woke.nanoseconds,
                    delivered: tick.delivered.nanoseconds
                )
            },
            ends: ends.all,
            failures: failures.all,
            flaw: overlaps.value > 0
                ? "two handlers at once"
                : keepsGrid
                    ? ticks.first.flatMap { ticks.flaw(from: $0.deadline, every: period) }
                    : ticks.lazy.compactMap(\.flawInTime).first
        )
    }
}
