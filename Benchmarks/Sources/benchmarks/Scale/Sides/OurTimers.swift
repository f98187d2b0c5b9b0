import Dispatch
import PreciseTimer

/// This library's timers, with a weak target, on a service with a timer descriptor.
struct OurTimers: TimerSide {
    static let name = "PreciseTimer"

    private let service: TimerService
    private let sample: Sample

    init(_ sample: Sample) throws {
        service = try TimerService(.timerFD)
        self.sample = sample
    }

    func schedule(_ number: Int) throws -> PreciseTimer {
        let schedule = PreciseTimer.Schedule.once(after: .nanoseconds(sample.delays[number]))
        return try PreciseTimer.schedule(schedule, on: service, target: sample.targets[number]) { target, _ in
            target.tick()
        }
    }

    func reschedule(_ timer: PreciseTimer, _ number: Int) throws {
        try timer.reschedule(.once(after: .nanoseconds(sample.delays[number] + 1_000)))
    }

    func cancel(_ timer: PreciseTimer) { timer.cancel() }

    func close(_ pending: [PreciseTimer]) { service.shutdown() }

    /// A handler holds the service's thread until all timers are scheduled and due.
    static func fire(_ sample: Sample) throws -> Double {
        let service = try TimerService(.timerFD)
        let gate = Gate()
        let held = DispatchSemaphore(value: 0)
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: gate) { gate, _ in
            held.signal()
            gate.pass()
        }
        held.wait()
        let start = Clock.now()
        let timers = try zip(sample.targets, sample.spread)
            .map { target, offset in
                let deadline = TimerInstant(nanoseconds: start + offset)
                return try PreciseTimer.schedule(.once(at: deadline), on: service, target: target) { target, _ in
                    target.tick()
                }
            }
        Clock.sleep(until: start + 2_000_000)
        gate.open()
        let last = try Ticks.wait().last
        withExtendedLifetime(timers) { _ = service.shutdown() }
        return Double(last - gate.passed)
    }

    static func tick() throws -> Double {
        let (service, target) = (try TimerService(.timerFD), Target())
        try storm(on: service, target)
        defer { service.shutdown() }
        return Ticks.price()
    }

    /// Timers that are always due.
    static func storm(on service: TimerService, _ target: Target) throws {
        for _ in 0..<Storm.timers {
            let period = Duration.nanoseconds(Storm.period)
            try PreciseTimer.schedule(.every(period), on: service, target: target) { target, _ in target.tick() }
        }
    }
}
