import PreciseTimer
import PreciseTimerTestKit
import Synchronization
import Testing

// The recipe "A tempo", and "A control loop that follows a reference clock", of the guides.

/// A clock for music, 24 ticks a beat.
final class Metronome: Sendable {
    private let ticks = Mutex<[PreciseTimer.Tick]>([])
    private let timer = Mutex<PreciseTimer?>(nil)

    /// The ticks up to now.
    var heard: [PreciseTimer.Tick] { ticks.withLock(\.self) }
    var beats: Int { heard.count { $0.index % 24 == 0 } }

    func play(_ bpm: Int, on service: TimerService) throws {
        let clock = try PreciseTimer.schedule(Self.rate(bpm), on: service, target: self) { metronome, tick in
            metronome.ticks.withLock { $0.append(tick) }
        }
        timer.withLock { $0 = clock }
    }

    /// The knob: the next deadline does not move, and the new rate counts from it.
    func turn(to bpm: Int) throws { try timer.withLock { try $0?.reschedule(Self.rate(bpm), keeping: .phase) } }

    private static func rate(_ bpm: Int) -> PreciseTimer.Schedule { .rate(24 * bpm, per: .seconds(60)) }
}

/// The clock of a field bus, with cycles of about a millisecond.
final class Bus: Sendable {
    private let start: TimerInstant
    private let cycle: Double
    private let phases = Mutex<[Double]>([])

    init(from start: TimerInstant, cycle: Double) { (self.start, self.cycle) = (start, cycle) }

    /// The bus's own time at an instant, in nanoseconds since its first cycle. A cycle is a millisecond of it.
    func nanoseconds(at instant: TimerInstant) -> Double {
        let time = start.duration(to: instant) / .nanoseconds(1) / cycle * 1_000_000
        phases.withLock { $0.append(time.remainder(dividingBy: 1_000_000)) }
        return time
    }

    /// The phases that the last cycles have measured.
    func latest(_ count: Int) -> ArraySlice<Double> { phases.withLock { $0.suffix(count) } }
}

/// A timer whose deadlines come with the cycles of the bus.
func follow(_ bus: Bus, on service: TimerService, step: @escaping @Sendable (PreciseTimer.Tick) -> Void) throws
    -> PreciseTimer
{
    let drift = Mutex(0.0)
    let refused = { @Sendable (_: PreciseTimer, error: any Error) in _ = Issue.record(error) }
    return try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, onError: refused) { timer, tick in
        step(tick)
        let phase = bus.nanoseconds(at: tick.deadline).remainder(dividingBy: 1_000_000)
        let correction = drift.withLock { drift in
            drift -= phase / 256
            return drift - phase / 8
        }
        let period = Duration.nanoseconds(1_000_000 + Int(correction.rounded()))
        try timer.reschedule(.every(period), keeping: .phase)
    }
}

struct MusicAndMotionTests {
    private let virtual = VirtualTime()

    @Test func aTurnOfTheKnobChangesTheTempoFromTheNextDeadlineOn() throws {
        let (metronome, start) = (Metronome(), virtual.now)
        try metronome.play(120, on: virtual.service)
        virtual.advance(by: .milliseconds(1_010))
        #expect(metronome.heard.count == 48 && metronome.beats == 2)
        try metronome.turn(to: 60)
        virtual.advance(by: .milliseconds(990))
        let times = metronome.heard.map { start.duration(to: $0.deadline) / .milliseconds(1) }
        #expect(abs(times[48] - 1_020.833) < 0.001, "the next deadline did not move")
        #expect(abs(times[49] - times[48] - 41.667) < 0.001, "half the tempo, twice the period")
        #expect(metronome.heard.map(\.index) == Array(0..<72) && metronome.beats == 3)
    }

    @Test func aKnobThatTurnsAllTheTimeDoesNotSilenceTheClock() throws {
        let metronome = Metronome()
        try metronome.play(120, on: virtual.service)
        for turn in 1...1_000 {
            try metronome.turn(to: 120 + turn % 2)
            virtual.advance(by: .milliseconds(1))
        }
        #expect(metronome.heard.count == 48)
    }

    /// The clock of the bus is 50 millionths faster or slower, and its cycles begin at another moment.
    @Test(arguments: [999_950.0, 1_000_050.0, 1_000_000.4]) func aCycleFollowsTheClockOfItsBus(cycle: Double) throws {
        let bus = Bus(from: virtual.now.advanced(by: .microseconds(300)), cycle: cycle)
        let log = TickLog(virtual)
        let timer = try follow(bus, on: virtual.service) { log.note($0) }
        virtual.advance(by: .seconds(3))
        #expect(bus.latest(1_000).allSatisfy { abs($0) <= 25 })
        #expect(log.ticks.map(\.index) == Array(0..<log.ticks.count) && log.ticks.count >= 2_999)
        withExtendedLifetime(timer) {}
    }

    @Test func aCycleThatMissedDeadlinesStaysWithItsBusAndKeepsItsNumbers() throws {
        let bus = Bus(from: virtual.now, cycle: 1_000_050)
        let log = TickLog(virtual)
        let timer = try follow(bus, on: virtual.service) { log.note($0) }
        virtual.advance(by: .seconds(2))
        virtual.jump(by: .microseconds(20_600))
        virtual.advance(by: .seconds(1))
        #expect(bus.latest(100).allSatisfy { abs($0) <= 25 })
        #expect(log.missed.reduce(0, +) >= 18)
        #expect(log.ticks.last.map(\.index) == log.ticks.count + log.missed.reduce(0, +) - 1)
        withExtendedLifetime(timer) {}
    }
}
