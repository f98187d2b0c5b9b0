// A user of the library in a package of its own: everything that users are promised must be reachable from here.
import PreciseTimer
import PreciseTimerTestKit

@main
enum Consumer {
    static func main() throws {
        let virtual = VirtualTime()
        let model = Model()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { model, tick in
            model.step(late: tick.lateness, at: tick.deadline.nanoseconds, missed: tick.missed)
        }
        virtual.advance(by: .seconds(3))
        precondition(timer.state == .scheduled && virtual.pendingCount == 1)
        precondition(timer.cancel() && timer.state == .ended(.cancelled))

        do throws(TimerError) {
            _ = try TimerService(alarm: UnwillingAlarm())
            preconditionFailure("an alarm that refuses to start is an error")
        } catch {
            precondition(error.code == UnwillingAlarm.unwilling && error.errno == 11)
        }
        let violations = AlarmConformance { UnwillingAlarm() }.violations(of: .holdsOneDeadline)
        precondition(violations.count == 1)
        precondition(TimerService.Backend.allCases.contains(.timerFD) && TimerClock.allCases == [.suspending])
        print("a user's package builds and runs:", TimerService.Backend.allCases.map(\.rawValue))
    }
}

final class Model: Sendable {
    func step(late: Duration, at nanoseconds: UInt64, missed: UInt64) { precondition(late == .zero && missed == 0) }
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
