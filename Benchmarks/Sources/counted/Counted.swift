import Foundation
import PreciseTimer
import Synchronization

/// Counts instructions per operation: runs N and 2 N operations under callgrind and divides the difference by N.
///
/// `counted` prints a line for each operation; `counted OPERATION N` performs that operation N times.
@main
enum Counted {
    /// Wrong arguments, or output of callgrind without a count.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if let name = arguments.first {
            guard let operation = Operation(rawValue: name), let count = arguments.last.flatMap({ Int($0) }) else {
                throw Failure(
                    description: "counted [\(Operation.allCases.map(\.rawValue).joined(separator: "|")) NUMBER]"
                )
            }
            return try operation.perform(count)
        }
        // As many operations at once as there are processors: callgrind's counts do not depend on it.
        let prices = try await withThrowingTaskGroup(of: (Operation, Int).self) { group in
            for operation in Operation.allCases { group.addTask { (operation, try price(of: operation)) } }
            var prices: [Operation: Int] = [:]
            for try await (operation, price) in group { prices[operation] = price }
            return prices
        }
        for operation in Operation.allCases { print(operation.rawValue, prices[operation] ?? 0) }
    }

    private static func price(of operation: Operation) throws -> Int {
        let count = operation.repetitions
        let difference = try lowest(operation, 2 * count) - lowest(operation, count)
        return Int((Double(difference) / Double(count)).rounded())
    }

    /// The lower of two counts that are alike, or the lowest of three: once a second, a thread of the library checks
    /// all timers, which rarely happens in so short a run.
    private static func lowest(_ operation: Operation, _ count: Int) throws -> Int {
        let counts = try (0..<2).map { _ in try instructions(of: operation, count) }
        let areAlike = abs(counts[0] - counts[1]) < counts[0] / 1_000
        return min(counts[0], counts[1], areAlike ? .max : try instructions(of: operation, count))
    }

    /// The instructions of a whole process that performs an operation `count` times.
    private static func instructions(of operation: Operation, _ count: Int) throws -> Int {
        let (process, pipe) = (Process(), Pipe())
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "SWIFT_DETERMINISTIC_HASHING=1", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", own,
        ]
        if let counted = operation.counted { process.arguments?.insert("--toggle-collect=*\(counted)*", at: 3) }
        process.arguments? += [operation.rawValue, "\(count)"]
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard let line = output.split(separator: "\n").last(where: { $0.contains("Collected : ") }),
            let total = line.split(separator: " ").last.flatMap({ Int($0) })
        else { throw Failure(description: "callgrind gave no count of \(operation.rawValue)\n\(output)") }
        return total
    }
}

/// The operations to count.
enum Operation: String, CaseIterable {
    case pair
    case schedule
    case cancel
    case reschedule
    case tick
    case tickWithStatistics = "tick-with-statistics"
    case tickWithOwnStatistics = "tick-with-own-statistics"
    case tolerantTick = "tolerant-tick"

    /// N of the counts of N and 2 N. Ticks with a tolerance come some hundred in a round, so only many of them have a
    /// usual number of rounds.
    var repetitions: Int { self == .tolerantTick ? 50_000 : 2_000 }

    /// The function whose instructions alone are counted; nil for the whole process. This operation takes long, and a
    /// thread checks its many timers once a second: on a busy machine more often for each tick.
    var counted: String? { self == .tolerantTick ? "tolerantTicks" : nil }

    /// Performs the operation `count` times on one thread, without the kernel.
    func perform(_ count: Int) throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        let target = Target()
        switch self {
        case .pair:
            let others = try timers(1_000, on: service, target)
            for number in 0..<count { try timer(number, on: service, target).cancel() }
            withExtendedLifetime(others) {}
        case .schedule: withExtendedLifetime(try timers(count, on: service, target)) {}
        case .cancel:
            let timers = try timers(4_000, on: service, target)
            for timer in timers.prefix(count) { timer.cancel() }
        case .reschedule:
            let timers = try timers(1_000, on: service, target)
            for number in 0..<count {
                try timers[number % 1_000].reschedule(.once(after: .seconds(7_200) + .microseconds(number)))
            }
        case .tick, .tickWithStatistics, .tickWithOwnStatistics:
            service.collectsStatistics = self == .tickWithStatistics
            for _ in 0..<1_000 {
                let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) {
                    $0.tick($1)
                }
                timer.collectsStatistics = self == .tickWithOwnStatistics
            }
            while target.ticks < count { alarm.advance(by: 1_000_000) }
        case .tolerantTick:
            try tolerantTimers(10_000, on: service, target, alarm)
            // After the first second the phases of the timers have mixed.
            while target.ticks < 250_000 { alarm.advanceToDeadline() }
            tolerantTicks(count, target, alarm)
        }
    }

    // Not inlined: callgrind finds it by its name.
    @inline(never) private func tolerantTicks(_ count: Int, _ target: Target, _ alarm: ManualAlarm) {
        let end = target.ticks + count
        while target.ticks < end { alarm.advanceToDeadline() }
    }

    /// Timers of 10 to 100 ms that may tick a millisecond late.
    private func tolerantTimers(_ count: Int, on service: TimerService, _ target: Target, _ alarm: ManualAlarm) throws {
        for number in 0..<count {
            // The periods come in a mixed order: 7,919 has no common factor with the number of timers.
            let period = Duration.nanoseconds(10_000_000 + number * 7_919 % count * 9_000)
            try PreciseTimer.schedule(.every(period), on: service, tolerance: .milliseconds(1), target: target) {
                $0.tick($1)
            }
            alarm.pass(nanoseconds: 900)
        }
    }

    private func timers(_ count: Int, on service: TimerService, _ target: Target) throws -> [PreciseTimer] {
        try (0..<count).map { try timer($0, on: service, target) }
    }

    private func timer(_ number: Int, on service: TimerService, _ target: Target) throws -> PreciseTimer {
        let delay = Duration.seconds(3_600) + .microseconds(number)
        return try PreciseTimer.schedule(.once(after: delay), on: service, target: target) { $0.tick($1) }
    }
}

/// An alarm without a thread: it fires if it is told to, and its clock moves only then.
final class ManualAlarm: TimerAlarm {
    private let time = Atomic<UInt64>(1_000_000_000)
    /// A structure: a function that stands alone in a mutex is wrapped once more with each access.
    private struct Firing {
        var call: (@Sendable () -> Void)?
    }

    private let onFire = Mutex(Firing())
    /// The deadline that is set, or `.max`.
    private let deadline = Atomic<UInt64>(.max)

    var now: TimerInstant { TimerInstant(nanoseconds: time.load(ordering: .relaxed)) }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.withLock { $0.call = onFire }
    }

    func set(_ deadline: TimerInstant?) { self.deadline.store(deadline?.nanoseconds ?? .max, ordering: .relaxed) }

    func stop() { onFire.withLock { $0.call = nil } }

    /// Lets time pass, and fires.
    func advance(by nanoseconds: UInt64) {
        pass(nanoseconds: nanoseconds)
        fire()
    }

    /// Lets time pass until the deadline that is set, and fires then, as an alarm of the kernel does.
    func advanceToDeadline() {
        let deadline = deadline.load(ordering: .relaxed)
        if deadline > time.load(ordering: .relaxed) { time.store(deadline, ordering: .relaxed) }
        fire()
    }

    /// Lets time pass without a firing.
    func pass(nanoseconds: UInt64) { time.add(nanoseconds, ordering: .relaxed) }

    private func fire() { onFire.withLock { $0.call }?() }
}

/// The timers' target.
final class Target: Sendable {
    private let counter = Atomic(0)

    var ticks: Int { counter.load(ordering: .relaxed) }

    func tick(_ tick: PreciseTimer.Tick) { counter.add(1, ordering: .relaxed) }
}
