import BackendComparison
import PreciseTimer
import PreciseTimerTestKit
import Synchronization

/// What is fuzzed. The name begins the lines of its inputs in `corpus.txt`.
public enum FuzzCheck: String, CaseIterable, Sendable {
    case schedules, texts, results, values

    /// Runs the check. A defect ends the process.
    public func run(_ bytes: [UInt8]) {
        switch self {
        case .schedules: SchedulesCheck.run(bytes)
        case .texts: TextsCheck.run(bytes)
        case .results: ResultsCheck.run(bytes)
        case .values: ValuesCheck.run(bytes)
        }
    }
}

/// Schedules of any numbers: each is refused by a typed error, or accepted and then consistent. Never a trap.
enum SchedulesCheck {
    static func run(_ bytes: [UInt8]) {
        var input = ByteReader(bytes)
        instants(&input)
        let virtual = VirtualTime(clock: input.byte() & 1 == 0 ? .suspending : .wall)
        for _ in 0..<4 where !input.isAtEnd { timer(on: virtual, &input) }
    }

    private static func instants(_ input: inout ByteReader) {
        let first = TimerInstant(nanoseconds: UInt64(bitPattern: input.number()))
        let second = TimerInstant(nanoseconds: UInt64(bitPattern: input.number()))
        let distance = first.duration(to: second)
        let there = first.advanced(by: distance)
        precondition(there == (first.isNever ? first : second), "an instant is reached by its distance")
        let moved = first.advanced(by: input.duration())
        precondition(!first.isNever || moved.isNever, "never stays never")
    }

    private static func timer(on virtual: VirtualTime, _ input: inout ByteReader) {
        let watch = Watch()
        let schedule = schedule(at: virtual.now, &input)
        let tolerance = input.duration()
        let policies: [PreciseTimer.MissedTickPolicy] = [
            .skip, .delay, .catchUp(limit: Int(Int8(bitPattern: input.byte()))),
        ]
        let policy = policies[Int(input.byte() % 3)]
        let isPaused = input.byte() & 7 == 0
        do throws(TimerError) {
            let timer = try PreciseTimer.schedule(
                schedule,
                on: virtual.service,
                tolerance: tolerance,
                missedTicks: policy,
                paused: isPaused,
                target: watch
            ) { watch, tick in watch.note(tick) }
            precondition(tolerance >= .zero)
            move(virtual, timer, tolerance, &input)
            watch.fired.store(virtual.now.nanoseconds, ordering: .relaxed)
            timer.fire()
            let before = (timer.state, timer.nextDeadline, timer.period)
            do throws(TimerError) {
                try timer.reschedule(Self.schedule(at: virtual.now, &input))
                watch.next.store(0, ordering: .relaxed)
            } catch {
                precondition(error.code == .invalidSchedule || error.code == .timerEnded)
                let after = (timer.state, timer.nextDeadline, timer.period)
                precondition(before == after, "a refused reschedule leaves the timer as it was")
            }
            move(virtual, timer, tolerance, &input)
            timer.resume()
            move(virtual, timer, tolerance, &input)
            timer.cancel()
        } catch {
            precondition(error.code == .invalidSchedule)
        }
        precondition(virtual.pendingCount == 0)
    }

    private static func schedule(at now: TimerInstant, _ input: inout ByteReader) -> PreciseTimer.Schedule {
        let kind = input.byte()
        // Only the highest values, so the other inputs of the corpus keep their meaning.
        if kind >= 0xe0 { return .onDemand }
        return switch kind % 8 {
        case 0: .once(after: input.duration())
        case 1: .once(at: now.advanced(by: input.duration()))
        case 2: .every(input.duration())
        case 3: .every(input.duration(), after: input.duration())
        case 4: .every(input.duration(), at: now.advanced(by: input.duration()))
        case 5: .rate(Int(input.number()), per: input.duration())
        case 6: .fixedDelay(input.duration(), after: input.duration())
        default: .once(at: TimerInstant(nanoseconds: UInt64(bitPattern: input.number()), clock: .continuous))
        }
    }

    /// Lets time pass in one step, so no input takes long, and checks that no timer is due afterwards.
    private static func move(
        _ virtual: VirtualTime,
        _ timer: PreciseTimer,
        _ tolerance: Duration,
        _ input: inout ByteReader
    ) {
        virtual.jump(by: max(.zero, input.duration()))
        guard timer.state == .scheduled, let next = timer.nextDeadline, !virtual.now.isNever else { return }
        precondition(next.advanced(by: tolerance) >= virtual.now, "what is due has been delivered")
    }

    /// A target that checks its ticks.
    private final class Watch: Sendable {
        /// The index of the next tick.
        let next = Atomic<Int>(0)
        /// The instant of the extra tick.
        let fired = Atomic<UInt64>(.max)

        func note(_ tick: PreciseTimer.Tick) {
            precondition(tick.delivered >= tick.deadline && tick.woke >= tick.deadline, "never early")
            precondition(tick.lateness >= .zero)
            let (expected, fired) = (next.load(ordering: .relaxed), fired.load(ordering: .relaxed))
            // The extra tick has the index of the next deadline. It may have that deadline's instant by chance.
            if tick.deadline.nanoseconds == fired, tick.missed == 0 {
                return next.store(tick.index, ordering: .relaxed)
            }
            let isNext = tick.index == expected || fired != .max && tick.index == expected + 1
            precondition(isNext, "no deadline is lost")
            let (sum, overflow) = tick.index.addingReportingOverflow(tick.missed)
            next.store(overflow || sum == .max ? .max : sum + 1, ordering: .relaxed)
        }
    }
}

/// Numbers from the bytes of an input; zeros when it has ended.
struct ByteReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    /// A number that is often near an end of its range or near zero, where arithmetic goes wrong.
    mutating func number() -> Int64 {
        let kind = byte()
        var value: UInt64 = 0
        for _ in 0..<(kind & 7) + 1 { value = value << 8 | UInt64(byte()) }
        let number = Int64(bitPattern: value)
        return switch kind >> 5 {
        case 0: number
        case 1: .max &- number
        case 2: .min &+ number
        case 3: 0 &- number
        case 4: Int64.max / 1_000_000_000 &+ number
        case 5: 1 &- number
        default: number &* 1_000_000
        }
    }

    /// Any length, even of more seconds than 64 bits hold.
    mutating func duration() -> Duration {
        switch byte() & 3 {
        case 0: .nanoseconds(number())
        case 1: .seconds(number())
        case 2: Duration(secondsComponent: number(), attosecondsComponent: number()) * Int(byte() & 15)
        default: .nanoseconds(Int64(byte()))
        }
    }
}

/// Texts of the command line: lengths of time, needs, loads and wishes. Each is refused, or survives reading and
/// writing.
enum TextsCheck {
    static func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        survives(text, DurationText.parse) { length in
            precondition(length >= .zero, "a length has no sign")
            let (seconds, attoseconds) = length.components
            return "\(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)ns"
        }
        survives(text, Load.parse, \.name)
        survives(text, ThreadWishes.parse) { $0.text ?? "" }
        // The description has single spaces, and no line end.
        guard let need = survives(text, Need.parse, \.description) else { return }
        precondition(!need.clauses.isEmpty)
        for clause in need.clauses {
            switch clause.condition {
            case .below(_, let number), .above(_, let number), .later(_, let number, _):
                precondition(number.isFinite && number >= 0)
            }
        }
    }

    /// Returns what is read, which must be the same after writing and reading it again; nil if it is refused.
    @discardableResult
    private static func survives<Value: Equatable>(
        _ text: String,
        _ read: (String) throws -> Value,
        _ write: (Value) -> String
    ) -> Value? {
        guard let value = try? read(text) else { return nil }
        let written = write(value)
        precondition((try? read(written)) == value, "\(text) is written as \(written)")
        return value
    }
}

/// Files of results: each is refused, or gives results that every format can show, and that can be compared, judged and
/// read again.
enum ResultsCheck {
    static func run(_ bytes: [UInt8]) {
        guard let results = try? JSONFile.decode(bytes) else { return }
        let report = Report(results)
        let comparison = BackendComparison(report)
        for row in comparison.rows {
            ValuesCheck.check(row)
            ValuesCheck.survives(row)
        }
        _ = comparison.sentences + comparison.warnings
        do {
            let again = try JSONFile.decode(try JSONFile.encode(report).utf8)
            precondition(again == results, "what is written is read again")
        } catch {
            preconditionFailure("what was read cannot be written and read again: \(error)")
        }
        for isWide in [false, true] { _ = report.screen(isWide: isWide, inColour: true) }
        _ = Report.sideBySide([("a", report), ("b", report)])
        _ = report.csv + report.markdown
        precondition(report.page.hasSuffix("</html>"), "what was read becomes a page")
        for text in [
            "p99 < 1ms, cpu < 5%", "timerfd.drift < 50ppm", "timerfd.p50 later 5% than hybrid",
            "timerfd.p50 later 5% than a.json",
        ] {
            guard let need = try? Need.parse(text) else { preconditionFailure("\(text) is a need") }
            _ = try? report.judged(by: [need], earlier: ["a.json": report])
        }
    }
}
