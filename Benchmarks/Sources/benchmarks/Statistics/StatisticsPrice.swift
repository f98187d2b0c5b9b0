import ArgumentParser
import PreciseTimer
import Synchronization

/// What collecting statistics adds to a tick.
struct StatisticsPrice: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "statistics",
        abstract: "The price of collecting statistics, in nanoseconds per tick."
    )
    static let heading = "Statistics"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var table = Table(
            title: "Nanoseconds per inline tick; what statistics add to it",
            columns: ["", "without", "of the service", "of each timer", "of both", "asked"],
            remarks: [
                "Each look at the clock finds all timers due. A handler counts its call. 200,000 ticks per round.",
                "A look ends with one more reading of the clock, with statistics and without.",
            ]
        )
        for count in [1, 10, 1_000] {
            progress("statistics: \(count) timers")
            let subjects = try Collecting.allCases.map { try Subject(count, $0) }
            var figures = subjects.map { _ in Figures() }
            for _ in 0..<(options.quick ? 3 : 4 * (options.rounds ?? 5) + 1) {
                for (index, subject) in subjects.enumerated() { figures[index].values.append(subject.measure()) }
            }
            let without = figures[0]
            let differences = figures.dropFirst()
                .map { side in
                    let added = Figures(values: zip(side.values, without.values).map { $0 - $1 })
                    return "+ \(added.text(.nanoseconds))"
                }
            let name = count == 1 ? "1 timer" : "\(grouped(count)) timers"
            table.rows.append([name, without.text(.nanoseconds)] + differences + ["≤ + 15 ns"])
        }
        return [table]
    }

    /// The service did not start its alarm.
    private struct Failure: Error {}

    private enum Collecting: CaseIterable {
        case off, service, timers, both
    }

    /// A service with timers that are always due.
    private final class Subject {
        private let service: TimerService
        private let fire: () -> Void
        private let target = Target()
        private let count: Int

        init(_ count: Int, _ collecting: Collecting) throws {
            let alarm = DrivenAlarm()
            service = try TimerService(alarm: alarm)
            fire = try alarm.firing ?? { throw Failure() }()
            self.count = count
            service.collectsStatistics = collecting == .service || collecting == .both
            for _ in 0..<count {
                // The period is short enough for each look to find the timer due, and longer than its handler.
                let timer = try PreciseTimer.schedule(
                    .every(.nanoseconds(150 * max(count, 2))),
                    on: service,
                    target: target
                ) { target, _ in target.tick() }
                timer.collectsStatistics = collecting == .timers || collecting == .both
            }
        }

        deinit { service.shutdown() }

        /// Nanoseconds per tick.
        func measure() -> Double {
            let before = target.ticks
            let time = Clock.time { for _ in 0..<200_000 / count { fire() } }
            return time / Double(max(1, target.ticks - before))
        }
    }

    private final class Target: Sendable {
        private let counter = Atomic(0)

        var ticks: Int { counter.load(ordering: .relaxed) }

        func tick() { counter.add(1, ordering: .relaxed) }
    }
}
