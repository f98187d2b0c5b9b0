// A user of the library in a package of its own: everything that users are promised must be reachable from here.
import Dispatch
import PreciseTimerPatterns
import PreciseTimerTestKit

#if os(Linux)
import PreciseTimer
#endif

@main
enum Consumer {
    static func main() async throws {
        let virtual = VirtualTime()
        let model = Model()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { model, tick in
            model.step(late: tick.lateness, at: tick.deadline.nanoseconds, missed: tick.missed)
        }
        await virtual.advance(by: .seconds(3))
        precondition(timer.state == .scheduled && virtual.pendingCount == 1)
        precondition(timer.cancel() && timer.state == .ended(.cancelled))

        try control(of: virtual, model)
        try await awaiting()

        do throws(TimerError) {
            _ = try TimerService(alarm: UnwillingAlarm())
            preconditionFailure("an alarm that refuses to start is an error")
        } catch {
            precondition(error.code == UnwillingAlarm.unwilling && error.errno == 11)
        }
        let violations = AlarmConformance { UnwillingAlarm() }.violations(of: .holdsOneDeadline)
        precondition(violations.count == 1)
        precondition(TimerService.Backend.timerFD.clocks.contains(.wall) && TimerClock.wall.now.nanoseconds > 0)
        print("a user's package builds and runs:", TimerService.Backend.allCases.map(\.rawValue))
    }

    private static func control(of virtual: VirtualTime, _ model: Model) throws {
        let bag = TimerBag()
        let timer = try PreciseTimer.schedule(
            .rate(60, per: .seconds(1)),
            on: virtual.service,
            tolerance: .milliseconds(1),
            missedTicks: .catchUp(limit: 2),
            deliver: .queue(DispatchQueue(label: "consumer")),
            label: "frames",
            paused: true,
            target: model,
            onEnd: { reason in precondition(reason == .cancelled) },
            handler: { _, tick in precondition(tick.hopLateness >= .zero) }
        )
        timer.store(in: bag, named: "frames")
        precondition(timer.state == .paused && timer.resume() && timer.pause(keeping: .grid) && timer.fire())
        try timer.reschedule(.fixedDelay(.seconds(1)))
        precondition(timer.period == .seconds(1) && timer.nextDeadline != nil)
        precondition(virtual.service.activeTimers.first?.label == "frames")
        precondition(bag.cancel("frames") && !timer.cancelAndWait())
        precondition(WeakProxy(model).target === model)
    }

    private static func awaiting() async throws {
        let service = try TimerService(.timerFD, clock: .continuous)
        for try await tick in PreciseTimer.ticks(.every(.milliseconds(1)), on: service) where tick.index >= 3 { break }
        try await Task.sleep(until: service.clock.now.advanced(by: .milliseconds(1)), clock: service.clock)
        let meter = Meter()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: meter) { meter, _ in
            meter.ticks += 1
        }
        while await meter.ticks < 3 { await Task.yield() }
        await timer.cancelAndWait()
        precondition(TimerClock.wall.now.clock == .wall)
    }
}

actor Meter {
    var ticks = 0
}

final class Model: Sendable {
    func step(late: Duration, at nanoseconds: UInt64, missed: Int) { precondition(late == .zero && missed == 0) }
}

/// Somebody's own mechanism, which fails.
final class UnwillingAlarm: TimerAlarm {
    static let unwilling = TimerError.Code("unwilling")

    var now: TimerInstant { TimerInstant(nanoseconds: 1) }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        throw TimerError(Self.unwilling, "starting an alarm that does not want to", errno: 11, systemMessage: "no")
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) {}

    func stop() {}
}
