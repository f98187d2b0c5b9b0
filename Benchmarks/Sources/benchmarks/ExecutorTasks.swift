import ArgumentParser
import Dispatch
import PreciseTimer
import PreciseTimerExecutor
import Synchronization

/// Tasks on a service's thread, and the default executor.
struct ExecutorTasks: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "executor",
        abstract: "How late tasks on a TimerExecutor wake up, and what a switch between them takes."
    )

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        let places = try Places()
        defer { places.close() }
        return [try lateness(options, places), switches(options, places)]
    }

    private static func lateness(_ options: Options, _ places: Places) throws -> Table {
        let periods: [(name: String, time: Duration)] = [("1 ms", .milliseconds(1)), ("250 µs", .microseconds(250))]
        var figures: [Sleeper: [[Figures]]] = [:]
        for sleeper in Sleeper.measured {
            // For each period, p50 and p99.
            figures[sleeper] = periods.map { _ in [Figures(), Figures()] }
            // The first turn, in which the hybrid service learns how early it must wake up, does not count.
            _ = try sleeper.turn(periods[0].time, places)
        }
        for round in options.rounds(with: 1) {
            progress("executor: lateness, round \(round + 1)")
            for (place, period) in periods.enumerated() {
                var bins: [Sleeper: TimeBins] = [:]
                for _ in 0..<turns {
                    for sleeper in Sleeper.measured {
                        bins[sleeper, default: TimeBins()].merge(try sleeper.turn(period.time, places))
                    }
                }
                for (sleeper, bins) in bins {
                    figures[sleeper]?[place][0].values.append(bins.percentile(0.5))
                    figures[sleeper]?[place][1].values.append(bins.percentile(0.99))
                }
            }
        }
        var table = Table(
            title: "Tasks that sleep until their next deadline, lateness; × the default executor",
            columns: [""] + periods.flatMap { ["\($0.name), p50", "\($0.name), p99"] },
            remarks: [
                "A loop's turn takes 100 ms, and a round has \(turns) of each loop. A deadline that a loop serves "
                    + "late, or a timer misses, counts with its lateness."
            ]
        )
        for sleeper in Sleeper.measured {
            let reference = sleeper == .onDefault ? nil : figures[.onDefault]
            table.rows.append(
                [sleeper.rawValue]
                    + periods.indices.flatMap { period in
                        (0...1)
                            .map { column in
                                figures[sleeper]?[period][column]
                                    .text(.time, against: reference?[period][column]) ?? "–"
                            }
                    }
            )
        }
        func rows(_ sleepers: [Sleeper], to reference: Sleeper) -> [Behind.Row] {
            sleepers.map { ($0.rawValue, figures[$0]?[0][0].ratio(to: figures[reference]?[0][0])) }
        }
        let own = Sleeper.measured.filter { $0 != .onDefault }
        let why =
            "each sleep schedules a timer, and the runtime resumes the task. A sleep on service.clock is a loop over "
            + "the ticks of a timer, which ends with its first tick"
        let hybrid = own.filter { $0 == .onHybrid || $0 == .clockOfHybrid }
        table.remarks += [
            Behind.remark(rows(own, to: .onDefault), above: Behind.peer, "the default executor", ""),
            Behind.remark(rows(hybrid, to: .handler), above: Behind.floor, "the handler at 1 ms, p50", why),
            Sleeper.obstacle,
        ]
        .compactMap(\.self)
        return table
    }

    private static func switches(_ options: Options, _ places: Places) -> Table {
        var figures: [Switch: (own: Figures, reference: Figures)] = [:]
        for kind in Switch.allCases {
            progress("executor: \(kind.rawValue)")
            // Many short rounds: those of the default executor depend on the threads that it has at that moment.
            for _ in 0..<(options.quick ? 5 : 5 * (options.rounds ?? 5)) {
                figures[kind, default: (Figures(), Figures())].own.values.append(kind.price(on: places.onTimerFD))
                figures[kind, default: (Figures(), Figures())].reference.values.append(kind.price(on: nil))
            }
        }
        var table = Table(
            title: "One switch between tasks; × the default executor",
            columns: ["", "TimerExecutor on timerfd", "default executor"],
            remarks: [
                "The tasks do nothing else. A service has one thread. The default executor has one for each processor, "
                    + "and wakes another one for a job that it could run, too."
            ]
        )
        for kind in Switch.allCases {
            guard let (own, reference) = figures[kind] else { continue }
            table.rows.append([kind.rawValue, own.text(.nanoseconds, against: reference), reference.text(.nanoseconds)])
        }
        let rows = Switch.allCases.map { ($0.rawValue, figures[$0]?.own.ratio(to: figures[$0]?.reference)) }
        table.remarks += [Behind.remark(rows, above: Behind.peer, "the default executor", "")].compactMap(\.self)
        return table
    }

    /// The turns of each loop in a round.
    private static let turns = 8
}

/// The services, and the executors on them.
private final class Places {
    let timerFD: TimerService
    let hybrid: TimerService
    let onTimerFD: TimerExecutor
    let onHybrid: TimerExecutor

    init() throws {
        (timerFD, hybrid) = (try TimerService(.timerFD), try TimerService(.hybrid))
        (onTimerFD, onHybrid) = (TimerExecutor(on: timerFD), TimerExecutor(on: hybrid))
    }

    func close() {
        timerFD.shutdown()
        hybrid.shutdown()
    }
}

/// A loop that waits for its next deadline.
private enum Sleeper: String, CaseIterable {
    case onDefault = "Task.sleep, default executor"
    case onTimerFD = "Task.sleep, TimerExecutor on timerfd"
    case onHybrid = "Task.sleep, TimerExecutor on hybrid"
    case clockOfHybrid = "service.clock, TimerExecutor on hybrid"
    /// The floor: it has no task.
    case handler = "inline handler on hybrid"

    #if compiler(>=6.3) && compiler(<6.4)
    static let measured = allCases
    static let obstacle: String? = nil
    #else
    static let measured = allCases.filter { $0 != .onTimerFD && $0 != .onHybrid }
    static let obstacle: String? = "With this compiler, Task.sleep always waits on the default executor."
    #endif

    /// The lateness of the deadlines of 100 ms.
    func turn(_ period: Duration, _ places: Places) throws -> TimeBins {
        let record = LatenessRecord(goal: Int(.milliseconds(100) / period))
        switch self {
        case .onDefault: Self.sleep(period, nil, record)
        case .onTimerFD: Self.sleep(period, places.onTimerFD, record)
        case .onHybrid: Self.sleep(period, places.onHybrid, record)
        case .clockOfHybrid:
            let service = places.hybrid
            Task(executorPreference: places.onHybrid) {
                var next = service.now
                repeat {
                    next = next.advanced(by: period)
                    try? await service.clock.sleep(until: next)
                } while record.note(Clock.now(), since: next)
            }
        case .handler:
            let timer = try PreciseTimer.schedule(.every(period), on: places.hybrid) { timer, tick in
                let now = Clock.now()
                for missed in 0...tick.missed {
                    let deadline = tick.deadline.advanced(by: period * missed)
                    guard record.note(now, since: deadline) else {
                        timer.cancel()
                        return
                    }
                }
            }
            return withExtendedLifetime(timer) { record.result }
        }
        return record.result
    }

    private static func sleep(_ period: Duration, _ executor: TimerExecutor?, _ record: LatenessRecord) {
        Task(executorPreference: executor) {
            var next = SuspendingClock.now
            repeat {
                next += period
                try? await Task.sleep(until: next, clock: .suspending)
            } while record.note(next.duration(to: .now))
        }
    }
}

/// Collects the lateness of so many deadlines.
private final class LatenessRecord: Sendable {
    private let goal: Int
    private let bins = Mutex(TimeBins())
    private let isFull = DispatchSemaphore(value: 0)

    init(goal: Int) { self.goal = goal }

    /// Returns whether there are more deadlines.
    func note(_ lateness: Duration) -> Bool {
        let count = bins.withLock { bins in
            bins.record(UInt64(max(0, lateness / .nanoseconds(1))))
            return bins.count
        }
        if count == goal { isFull.signal() }
        return count < goal
    }

    func note(_ now: UInt64, since deadline: TimerInstant) -> Bool {
        note(deadline.duration(to: TimerInstant(nanoseconds: now)))
    }

    /// Waits for the last deadline.
    var result: TimeBins {
        isFull.wait()
        return bins.withLock { $0 }
    }
}

/// Tasks that give way to each other.
private enum Switch: String, CaseIterable {
    case pingPong = "two tasks that resume each other"
    case yields = "1,000 tasks that yield"

    static let count = 200_000

    /// Nanoseconds per switch.
    func price(on executor: TimerExecutor?) -> Double {
        let isOver = DispatchSemaphore(value: 0)
        let time = Clock.time {
            Task(executorPreference: executor) {
                switch self {
                case .pingPong:
                    let seat = Seat()
                    await withDiscardingTaskGroup { group in for _ in 0..<2 { group.addTask { await seat.play() } } }
                case .yields:
                    await withDiscardingTaskGroup { group in
                        for _ in 0..<1_000 {
                            group.addTask { for _ in 0..<Self.count / 1_000 { await Task.yield() } }
                        }
                    }
                }
                isOver.signal()
            }
            isOver.wait()
        }
        return time / Double(Self.count)
    }

    /// The place of the task that waits. Each continuation is taken from there once, and resumed.
    @safe private final class Seat: Sendable {
        private let waiting = unsafe Mutex<UnsafeContinuation<Void, Never>?>(nil)

        /// Takes the seat again and again, each time resuming the task that had it.
        func play() async {
            for _ in 0..<Switch.count / 2 { unsafe await withUnsafeContinuation { unsafe swap($0)?.resume() } }
            unsafe swap(nil)?.resume()
        }

        private func swap(_ other: UnsafeContinuation<Void, Never>?) -> UnsafeContinuation<Void, Never>? {
            unsafe waiting.withLock { waiting in
                defer { unsafe waiting = other }
                return unsafe waiting
            }
        }
    }
}
