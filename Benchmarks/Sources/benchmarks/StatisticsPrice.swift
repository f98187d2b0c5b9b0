import ArgumentParser
import PreciseTimer
import Synchronization

/// What collecting statistics adds to a tick.
struct StatisticsPrice: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "statistics",
        abstract: "The price of collecting statistics, in nanoseconds per tick."
    )

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var table = Table(
            title: "Nanoseconds per inline tick, and what statistics add",
            columns: ["", "without", "of the service", "of each timer", "of both"],
            remarks: [
                "A handler only counts its call.",
                "All timers are due at once, on a clock that costs nothing; 20,000 ticks per round.",
                "The statistics of 1,000 timers take 8 MB, which the processor's caches do not keep between ticks.",
                "Each tick with statistics also reads the clock, to end its handler's time. The kernel's clock takes "
                    + "\(Unit.nanoseconds.text(readingOfTheClock())) here.",
            ]
        )
        for count in [1, 10, 1_000] {
            progress("statistics: \(count) timers")
            let subjects = try Collecting.allCases.map { try Subject(count, $0) }
            var figures = subjects.map { _ in Figures() }
            // Many short rounds: a stall of the machine spoils few of them.
            for _ in 0..<(options.quick ? 20 : 40 * (options.rounds ?? 5)) {
                for (index, subject) in subjects.enumerated() { figures[index].values.append(subject.measure()) }
            }
            let without = figures[0]
            let differences = figures.dropFirst()
                .map { side in
                    let added = Figures(values: zip(side.values, without.values).map { $0 - $1 })
                    return added.median.map { "\($0 < 0 ? "-" : "+") \(Unit.nanoseconds.text(abs($0)))" } ?? "–"
                }
            let name = count == 1 ? "1 timer" : "\(grouped(count)) timers"
            table.rows.append([name, without.text(.nanoseconds)] + differences)
        }
        return [table]
    }

    /// Nanoseconds per reading of the kernel's clock.
    private static func readingOfTheClock() -> Double {
        let count = 100_000
        return (0..<9).map { _ in Clock.time { for _ in 0..<count { _ = Clock.now() } } }.reduce(.infinity, min)
            / Double(count)
    }

    /// The service did not start its alarm.
    private struct Failure: Error {}

    private enum Collecting: CaseIterable {
        case off, service, timers, both
    }

    /// A service with timers that are always due.
    private final class Subject {
        private let service: TimerService
        private let alarm = DrivenAlarm()
        private let fire: () -> Void
        private let target = Target()
        private let count: Int

        init(_ count: Int, _ collecting: Collecting) throws {
            service = try TimerService(alarm: alarm)
            fire = try alarm.firing ?? { throw Failure() }()
            self.count = count
            service.collectsStatistics = collecting == .service || collecting == .both
            for _ in 0..<count {
                let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) {
                    $0.tick($1)
                }
                timer.collectsStatistics = collecting == .timers || collecting == .both
            }
        }

        deinit { service.shutdown() }

        /// Nanoseconds per tick.
        func measure() -> Double {
            let before = target.ticks
            let time = Clock.time {
                for _ in 0..<20_000 / count {
                    alarm.advance(by: 1_000_000)
                    fire()
                }
            }
            return time / Double(max(1, target.ticks - before))
        }
    }

    private final class Target: Sendable {
        private let counter = Atomic(0)

        var ticks: Int { counter.load(ordering: .relaxed) }

        func tick(_ tick: PreciseTimer.Tick) { counter.add(1, ordering: .relaxed) }
    }
}

/// An alarm without a thread: it fires when it is told to. Its clock costs next to nothing, and shows the same times in
/// each run. For one thread.
final class DrivenAlarm: TimerAlarm, @unchecked Sendable {
    /// A structure: a function that stands alone in a mutex is wrapped once more with each access.
    private struct Firing {
        var call: (@Sendable () -> Void)?
    }

    private let onFire = Mutex(Firing())
    private var time: UInt64 = 1_000_000_000

    /// Each reading is some nanoseconds later than the one before, so that ticks are late and handlers take time.
    var now: TimerInstant {
        time += 25
        return TimerInstant(nanoseconds: time)
    }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.withLock { $0.call = onFire }
    }

    func set(_ deadline: TimerInstant?) {}

    func stop() { onFire.withLock { $0.call = nil } }

    /// Lets time pass.
    func advance(by nanoseconds: UInt64) { time += nanoseconds }

    /// The function to call for a firing; nil before the start.
    var firing: (@Sendable () -> Void)? { onFire.withLock { $0.call } }
}
