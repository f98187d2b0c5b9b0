import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Timers on virtual time, and their ticks in words. All numbers are milliseconds, and instants count from the start.
struct Scene: Sendable {
    let virtual: VirtualTime
    let log = Log()
    private let start: TimerInstant

    init(clock: TimerClock = .suspending, seed: UInt64 = 0) {
        virtual = VirtualTime(clock: clock, seed: seed)
        start = virtual.now
    }

    /// Schedules a timer that notes its ticks. It lives without its handle.
    @discardableResult
    func timer(
        _ schedule: PreciseTimer.Schedule,
        missed policy: PreciseTimer.MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false
    ) throws(TimerError) -> PreciseTimer {
        try PreciseTimer.schedule(
            schedule,
            on: virtual.service,
            missedTicks: policy,
            label: label,
            paused: paused,
            target: log
        ) { $0.note($1) }
    }

    /// Schedules a timer that notes its ticks, and whose handler goes on with the timer and the number of ticks so far.
    /// It ends with its handle.
    func handle(
        _ schedule: PreciseTimer.Schedule,
        missed policy: PreciseTimer.MissedTickPolicy = .skip,
        handler: @escaping @Sendable (PreciseTimer, Int) -> Void
    ) throws(TimerError) -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, missedTicks: policy) { [log] timer, tick in
            log.note(tick)
            handler(timer, log.count)
        }
    }

    func advance(_ time: Int) { virtual.advance(by: .milliseconds(time)) }

    func jump(_ time: Int) { virtual.jump(by: .milliseconds(time)) }

    /// The instant of a number.
    func at(_ time: Int) -> TimerInstant { start.advanced(by: .milliseconds(time)) }

    /// The number of an instant.
    func time(_ instant: TimerInstant?) -> String? { instant.map { start.duration(to: $0).number } }

    /// All ticks: `2@30` is the tick with the index 2 and the deadline 30.
    var ticks: String { ticks(from: 0) }

    /// The ticks after a number of them, with their indices from a number on.
    func ticks(from first: Int, numberedFrom number: Int = 0) -> String {
        log.ticks.dropFirst(first).map { $0.words(since: start, numberedFrom: number) }.joined(separator: ", ")
    }
}

extension PreciseTimer.Tick {
    fileprivate func words(since start: TimerInstant, numberedFrom number: Int) -> String {
        "\(isExtra ? "extra " : "")\(index - number)@\(start.duration(to: deadline).number)"
            + (lateness > .zero ? " late \(lateness.number)" : "") + (missed > 0 ? " missed \(missed)" : "")
    }
}

extension Duration {
    /// Milliseconds, to the nanosecond; without a point if there is no fraction.
    fileprivate var number: String {
        let number = Double(components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000) / 1e6
        return Int(exactly: number).map(String.init) ?? "\(number)"
    }
}

/// The name of a story, a schedule, what happens to its timer, and the timer's ticks.
typealias Play = (name: String, schedule: PreciseTimer.Schedule, moves: [Move], ticks: String)

enum Move: Sendable {
    case advance(Int)
    case jump(Int)
    /// A pause that keeps the remaining time, and one that keeps the grid.
    case hold, pause
    case resume, fire, restart
    case reschedule(PreciseTimer.Schedule)
    case changeSteps(PreciseTimer.Schedule)
}

/// Expects the ticks of a story. Each of its moves must change something.
func expectTicks(of play: Play) throws {
    let scene = Scene()
    let timer = try scene.timer(play.schedule)
    for move in play.moves {
        switch move {
        case .advance(let time): scene.advance(time)
        case .jump(let time): scene.jump(time)
        case .hold: #expect(timer.pause())
        case .pause: #expect(timer.pause(keeping: .grid))
        case .resume: #expect(timer.resume())
        case .fire: #expect(timer.fire())
        case .restart: #expect(timer.restart())
        case .reschedule(let schedule): try timer.reschedule(schedule)
        case .changeSteps(let schedule): try timer.reschedule(schedule, keeping: .phase)
        }
    }
    #expect(scene.ticks == play.ticks, "\(play.name)")
}
