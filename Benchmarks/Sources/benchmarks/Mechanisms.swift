import ArgumentParser
import CBenchmark
import CLibevent
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import PreciseTimer
import Synchronization

/// How late each mechanism is for a single deadline, 1.25 ms away: a length that shows a rounding to milliseconds.
struct Mechanisms: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "How late one deadline is: timerfd, timer slack, epoll, libevent, Dispatch, Task.sleep and others."
    )
    static let heading = "Mechanisms: the lateness of one deadline"

    @OptionGroup var options: Options

    private static let delay: UInt64 = 1_250_000
    private static let turn = 100

    static func tables(_ options: Options) throws -> [Table] {
        var figures = Mechanism.allCases.map { _ in (half: Figures(), most: Figures(), early: Figures()) }
        for round in options.rounds(with: 1) {
            progress("mechanisms: round \(round + 1)")
            for (index, mechanism) in Mechanism.allCases.enumerated() {
                let lateness = try mechanism.lateness(of: turn, delay).sorted().map(Double.init)
                figures[index].half.values.append(lateness[turn / 2])
                figures[index].most.values.append(lateness[turn * 99 / 100])
                figures[index].early.values.append(Double(lateness.count { $0 < 0 } * 100) / Double(turn))
            }
        }
        var table = Table(
            title: "Lateness of a deadline 1.25 ms away; × a timerfd",
            columns: ["", "p50", "p99", "early"],
            remarks: [
                "\(turn) deadlines in each round, one after the other and each at random after the former, on a thread "
                    + "or queue that does nothing else. A negative figure is early.",
                "The kernel's timer slack is 50 µs, as for each ordinary thread, unless the row says otherwise.",
            ]
        )
        for (mechanism, figure) in zip(Mechanism.allCases, figures) {
            // A ratio of an early median says nothing.
            let compares = mechanism != .timerFD && figure.half.median.map { $0 > 0 } == true
            let half = signed(figure.half)
            table.rows.append([
                mechanism.rawValue, compares ? "\(figure.half.quotient(figures[0].half)) (\(half))" : half,
                signed(figure.most), figure.early.text(.percent),
            ])
        }
        return [table]
    }

    private static func signed(_ figures: Figures) -> String {
        guard let median = figures.median else { return "–" }
        return (median < 0 ? "-" : "") + Unit.time.text(abs(median))
    }
}

/// What waits for a deadline. The first one is the reference.
private enum Mechanism: String, CaseIterable {
    case timerFD = "timerfd"
    case timerFDWithSlack = "timerfd, timer slack 1 ms"
    case epollTimerFD = "epoll_wait for a timerfd"
    case epollMilliseconds = "epoll_wait's time-out, in milliseconds"
    case nanosleepWithoutSlack = "clock_nanosleep, timer slack 1 ns"
    case nanosleep = "clock_nanosleep"
    case libevent = "libevent, one event"
    case libeventPrecise = "libevent, EVENT_BASE_FLAG_PRECISE_TIMER"
    case libeventBeside = "libevent, 8 ms away, beside an event each 1 ms"
    case libeventPreciseBeside = "the same, EVENT_BASE_FLAG_PRECISE_TIMER"
    case strictSource = "DispatchSourceTimer, .strict"
    case source = "DispatchSourceTimer"
    case sourceWithLeeway = "DispatchSourceTimer, leeway 100 ms"
    case asyncAfter = "asyncAfter"
    case taskSleep = "Task.sleep"
    case nio = "SwiftNIO's scheduleTask"
    case foundation = "Foundation.Timer"
    case ours = "PreciseTimer on .timerFD"

    /// Nanoseconds from each deadline to the code that it wakes.
    func lateness(of count: Int, _ delay: UInt64) throws -> [Int64] {
        switch self {
        case .timerFD: Self.system(BENCH_TIMERFD, count, delay)
        case .timerFDWithSlack: Self.system(BENCH_TIMERFD, count, delay, slack: 1_000_000)
        case .epollTimerFD: Self.system(BENCH_EPOLL_TIMERFD, count, delay)
        case .epollMilliseconds: Self.system(BENCH_EPOLL_MILLISECONDS, count, delay)
        case .nanosleepWithoutSlack: Self.system(BENCH_NANOSLEEP, count, delay, slack: 1)
        case .nanosleep: Self.system(BENCH_NANOSLEEP, count, delay)
        case .libevent: try Self.libevent(isPrecise: false, count, delay)
        case .libeventPrecise: try Self.libevent(isPrecise: true, count, delay)
        case .libeventBeside: try Self.libevent(isPrecise: false, beside: true, count, 8_000_000)
        case .libeventPreciseBeside: try Self.libevent(isPrecise: true, beside: true, count, 8_000_000)
        case .strictSource: Self.source(.strict, count, delay)
        case .source: Self.source([], count, delay)
        case .sourceWithLeeway: Self.source([], count, delay, leeway: .milliseconds(100))
        case .asyncAfter: Self.asyncAfter(count, delay)
        case .taskSleep: Self.taskSleep(count, delay)
        case .nio: try Self.nio(count, delay)
        case .foundation: Self.foundation(count, delay)
        case .ours: try Self.ours(count, delay)
        }
    }

    private static func system(_ wait: bench_wait, _ count: Int, _ delay: UInt64, slack: UInt64 = 50_000) -> [Int64] {
        unsafe Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            unsafe bench_late(wait, delay, slack, UInt32(count), buffer.baseAddress)
            initialized = count
        }
    }

    private static func libevent(
        isPrecise: Bool,
        beside: Bool = false,
        _ count: Int,
        _ delay: UInt64
    ) throws -> [Int64] {
        let base = unsafe isPrecise ? try LoopEvents.makeBase() : event_base_new()
        guard let base = unsafe base else { throw Program.Failure(description: "libevent has no base") }
        let target = Target()
        let event = unsafe LoopEvents.event(on: base, target)
        let other = unsafe event_new(base, -1, Int16(EV_PERSIST), { _, _, _ in }, nil)
        if beside { unsafe LoopEvents.add(other, after: 1_000_000) }
        defer {
            unsafe event_free(event)
            unsafe event_free(other)
            unsafe event_base_free(base)
        }
        return measure(count, delay, atRandom: !beside) { _ in
            let ticks = Ticks.count
            unsafe LoopEvents.add(event, after: delay)
            while Ticks.count == ticks { unsafe event_base_loop(base, EVLOOP_ONCE) }
            return Clock.now()
        }
    }

    private static func source(
        _ flags: DispatchSource.TimerFlags,
        _ count: Int,
        _ delay: UInt64,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) -> [Int64] {
        let queue = DispatchQueue(label: "benchmark")
        return onAnotherThread(count, delay) { due, woke in
            let source = DispatchSource.makeTimerSource(flags: flags, queue: queue)
            source.schedule(deadline: DispatchTime(uptimeNanoseconds: due), leeway: leeway)
            source.setEventHandler(handler: woke)
            source.activate()
            return { source.cancel() }
        }
    }

    private static func asyncAfter(_ count: Int, _ delay: UInt64) -> [Int64] {
        let queue = DispatchQueue(label: "benchmark")
        return onAnotherThread(count, delay) { due, woke in
            queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: due), execute: woke)
            return {}
        }
    }

    private static func taskSleep(_ count: Int, _ delay: UInt64) -> [Int64] {
        onAnotherThread(count, delay) { due, woke in
            Task {
                try? await Task.sleep(for: .nanoseconds(Int64(due) - Int64(Clock.now())))
                woke()
            }
            return {}
        }
    }

    private static func nio(_ count: Int, _ delay: UInt64) throws -> [Int64] {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        return onAnotherThread(count, delay) { due, woke in
            group.next().scheduleTask(deadline: .uptimeNanoseconds(due), woke)
            return {}
        }
    }

    private static func ours(_ count: Int, _ delay: UInt64) throws -> [Int64] {
        let service = try TimerService(.timerFD)
        defer { service.shutdown() }
        return try onAnotherThread(count, delay) { due, woke in
            let deadline = TimerInstant(nanoseconds: due)
            let timer = try PreciseTimer.schedule(.once(at: deadline), on: service) { _, _ in woke() }
            return { timer.cancel() }
        }
    }

    private static func foundation(_ count: Int, _ delay: UInt64) -> [Int64] {
        measure(count, delay) { due in
            let woke = Instant()
            let left = Double(due - Clock.now()) / 1e9
            let timer = Timer(fire: Date(timeIntervalSinceNow: left), interval: 0, repeats: false) { _ in woke.note() }
            RunLoop.current.add(timer, forMode: .default)
            // A timer does not end a run.
            let end = Date(timeIntervalSinceNow: left + 0.002)
            while woke.time == nil { _ = RunLoop.current.run(mode: .default, before: end) }
            return woke.time ?? 0
        }
    }

    /// Lets `start` arrange for a call of `woke` on another thread, and then calls what it returned.
    private static func onAnotherThread(
        _ count: Int,
        _ delay: UInt64,
        _ start: (_ due: UInt64, _ woke: @escaping @Sendable () -> Void) throws -> () -> Void
    ) rethrows -> [Int64] {
        try measure(count, delay) { due in
            let (woke, isOver) = (Instant(), DispatchSemaphore(value: 0))
            let end = try start(due) {
                woke.note()
                isOver.signal()
            }
            isOver.wait()
            end()
            return woke.time ?? 0
        }
    }

    private static func measure(
        _ count: Int,
        _ delay: UInt64,
        atRandom: Bool = true,
        _ wait: (_ due: UInt64) throws -> UInt64
    ) rethrows -> [Int64] {
        try (0..<count)
            .map { _ in
                let due = Clock.now() + delay
                return Int64(try wait(due)) - Int64(due)
            }
    }
}

/// The instant of one call, which another thread may make.
private final class Instant: Sendable {
    private let value = Mutex<UInt64?>(nil)

    var time: UInt64? { value.withLock(\.self) }
    func note() {
        let now = Clock.now()
        value.withLock { $0 = now }
    }
}
