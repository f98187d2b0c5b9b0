import ArgumentParser
import Dispatch
import PreciseTimer
import PreciseTimerPatterns

/// Operations with a time-out, which end in time.
struct TimeOuts: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "time-outs",
        abstract: "withTimeout beside a task group that races with Task.sleep."
    )
    static let heading = "Time-outs of operations"

    @OptionGroup var options: Options

    private static let count = 20_000

    static func tables(_ options: Options) throws -> [Table] {
        var figures = Side.allCases.map { _ in Figures() }
        progress("time-outs")
        for _ in options.rounds(with: 1) {
            for (index, side) in Side.allCases.enumerated() { figures[index].values.append(run(side)) }
        }
        let (own, reference, floor) = (figures[0], figures[1], figures[2])
        let name = Side.ours.rawValue
        let why = "PreciseTimer also schedules a timer, cancels it, and passes on a cancellation"
        let behind = [
            Behind.remark([(name, own.ratio(to: reference))], above: Behind.peer, "the task group", ""),
            Behind.remark([(name, own.ratio(to: floor))], above: Behind.floor, "the bare task", why),
        ]
        var table = Table(
            title: "One operation that ends at once, with a time-out of an hour; × a task group with Task.sleep",
            columns: ["", "time per operation", "÷ bare task"],
            remarks: [
                "20,000 operations one after the other, in one task. The bare task is the floor: a task, awaited, "
                    + "without a time-out."
            ] + behind.compactMap(\.self)
        )
        for (side, figure) in zip(Side.allCases, figures) {
            let text = figure.text(.nanoseconds, against: side == .taskGroup ? nil : reference)
            table.rows.append([side.rawValue, text, side == .bare ? "" : figure.quotient(floor)])
        }
        return [table]
    }

    private enum Side: String, CaseIterable {
        case ours = "withTimeout"
        case taskGroup = "task group with Task.sleep"
        case bare = "bare task"
    }

    /// Nanoseconds per operation.
    private static func run(_ side: Side) -> Double {
        let isOver = DispatchSemaphore(value: 0)
        let time = Clock.time {
            Task {
                for _ in 0..<count {
                    switch side {
                    case .ours: _ = try? await withTimeout(.seconds(3_600)) { 1 }
                    case .taskGroup: _ = try? await raceWithSleep { 1 }
                    case .bare: _ = await Task { 1 }.value
                    }
                }
                isOver.signal()
            }
            isOver.wait()
        }
        return time / Double(count)
    }

    /// The usual way to write a time-out without this library.
    private static func raceWithSleep(_ operation: @escaping @Sendable () async throws -> Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask(operation: operation)
            group.addTask {
                try await Task.sleep(for: .seconds(3_600))
                throw CancellationError()
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}
