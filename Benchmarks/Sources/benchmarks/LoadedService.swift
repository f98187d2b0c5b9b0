import Dispatch
import Foundation
import PreciseTimer
import Synchronization

/// A service under load, and the watch on its calls.
struct LoadedService {
    /// The times recorded during the load.
    struct Reading {
        var calls = Watch.Record()
        var lateness = TimeBins()
        /// The lateness without the load.
        var calm = TimeBins()
    }

    let service: TimerService
    private let control: TimerService
    private let beat = Beat()
    private let target = Target()
    private let calm: TimeBins

    init() throws {
        service = try TimerService(.timerFD)
        control = try TimerService(.timerFD)
        try beat.start(on: service)
        let watch = Watch(own: service, control: control)
        Clock.sleep(milliseconds: 50)
        _ = beat.take()
        Clock.sleep(milliseconds: 500)
        calm = beat.take()
        _ = watch.stop()
    }

    /// Times calls and ticks while a body runs.
    func watch(_ body: () throws -> Void) rethrows -> Reading {
        let watch = Watch(own: service, control: control)
        Clock.sleep(milliseconds: 20)
        _ = beat.take()
        try body()
        Clock.sleep(milliseconds: 20)
        let lateness = beat.take()
        return Reading(calls: watch.stop(), lateness: lateness, calm: calm)
    }

    /// Schedules timers that are due in two hours and later.
    func fill(_ count: Int) throws -> [PreciseTimer] {
        try (0..<count).map { try timer(.once(after: .nanoseconds(7_200_000_000_000 + $0 * 1_000))) }
    }

    func timer(
        _ schedule: PreciseTimer.Schedule,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: service, missedTicks: policy, target: target) { target, _ in
            target.tick()
        }
    }

    func close() {
        service.shutdown()
        control.shutdown()
    }
}

/// Times every call to a service under load, from one thread. Calls to an idle service alternate with them: they are
/// the control, which shows how long the machine alone makes a call wait.
final class Watch: Sendable {
    /// The times of the calls.
    struct Record: Sendable {
        var own = TimeBins()
        var control = TimeBins()
    }

    private let isStopped = Atomic(false)
    private let hasEnded = DispatchSemaphore(value: 0)
    private let record = Mutex(Record())

    init(own: TimerService, control: TimerService) {
        Thread.detachNewThread { [self] in
            let target = Target()
            var local = Record()
            while !isStopped.load(ordering: .relaxed) {
                Self.timeCalls(to: own, target, &local.own)
                Self.timeCalls(to: control, target, &local.control)
            }
            record.withLock { $0 = local }
            hasEnded.signal()
        }
    }

    func stop() -> Record {
        isStopped.store(true, ordering: .relaxed)
        hasEnded.wait()
        return record.withLock { $0 }
    }

    /// A schedule and a cancel. After a shutdown the schedule is an error, which counts as a call.
    private static func timeCalls(to service: TimerService, _ target: Target, _ histogram: inout TimeBins) {
        let start = Clock.now()
        let timer = try? PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
            target,
            _ in target.tick()
        }
        let middle = Clock.now()
        timer?.cancel()
        let end = Clock.now()
        histogram.record(middle - start)
        histogram.record(end - middle)
    }
}

/// A 1 ms timer that records its lateness, including that of the deadlines it missed.
final class Beat: Sendable {
    private let lateness = Mutex(TimeBins())

    func note(_ tick: PreciseTimer.Tick) {
        let late = UInt64(tick.lateness / .nanoseconds(1))
        lateness.withLock { lateness in
            for number in 0...UInt64(tick.missed) { lateness.record(late - min(late, number * 1_000_000)) }
        }
    }

    /// The times recorded since the last call.
    func take() -> TimeBins {
        lateness.withLock { histogram in
            defer { histogram = TimeBins() }
            return histogram
        }
    }

    func start(on service: TimerService) throws {
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: self) { $0.note($1) }
    }
}
