import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Each argument that may be left out has an effect.
@Suite(.waits("a wrong argument ends a process")) struct KitFormTests {
    /// The form, and whether each argument has its effect, by its label.
    private typealias Row = (form: String, part: String, facts: [String: Bool])

    /// The random phase of a timer, which the seed determines.
    private func phase(_ service: TimerService) throws -> Duration? {
        let spread = PreciseTimer.Schedule.every(.seconds(60), spread: .seconds(60))
        let timer = try PreciseTimer.schedule(spread, on: service) { _, _ in }
        return timer.nextDeadline.map { service.now.duration(to: $0) }
    }

    @Test func eachArgumentHasItsEffect() async throws {
        let (date, origin) = (Date(timeIntervalSince1970: 1_774_742_400), TimerInstant.origin(on: .continuous))
        let begins = VirtualTime(clock: .wall, seed: 7)
        let atInstant = VirtualTime(clock: .continuous, at: origin, seed: 7)
        let atDate = VirtualTime(clock: .wall, at: date, seed: 7)
        let otherClock = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = VirtualTime(clock: .wall, at: TimerClock.suspending.now)
        }
        let clockWithoutDates = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = VirtualTime(clock: .suspending, at: Date(timeIntervalSince1970: 0))
        }
        #if DEBUG  // A release build stops without words.
        for result in [otherClock, clockWithoutDates] {
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("at an instant of another clock"), "\(text)")
        }
        #endif
        let seeded = try phase(TimerService(unsupervised: VirtualAlarm(), seed: 7))
        #expect(try seeded != phase(VirtualTime().service))
        let stalled = VirtualTime(at: origin)
        stalled.inject(.stall(.seconds(2)), after: .seconds(1))
        stalled.advanceWithoutSettling(by: .milliseconds(500))
        let lengths = Notes<Duration>()
        let patient = AlarmConformance(
            patience: .milliseconds(5),
            elapse: { lengths.append($1) },
            makeAlarm: { RefusingAlarm() }
        )
        #expect(patient.violations(of: .firesForPastDeadlines) == ["a deadline of the current instant did not fire"])
        let rows: [Row] = [
            (
                "VirtualTime.init(clock:seed:)", "seed",
                ["clock": begins.now.clock == .wall, "seed": try phase(begins.service) == seeded]
            ),
            (
                "VirtualTime.init(clock:at:seed:)", "at start",
                ["clock": otherClock != nil, "seed": try phase(atInstant.service) == seeded]
            ),
            (
                "VirtualTime.init(clock:at:seed:)", "at date",
                ["clock": clockWithoutDates != nil, "seed": try phase(atDate.service) == seeded]
            ),
            (
                "VirtualTime.inject(_:after:)", "after",
                ["after": stalled.now == origin.advanced(by: .milliseconds(500))]
            ),
            (
                "AlarmConformance.init(patience:elapse:makeAlarm:)", "patience",
                [
                    "patience": lengths.all.reduce(.zero, +) == .milliseconds(5),
                    "elapse": Set(lengths.all) == [.milliseconds(1)],
                ]
            ),
        ]
        for row in rows { #expect(row.facts.filter { !$0.value }.keys.sorted() == [], "\(row.form) \(row.part)") }
        let forms = rows.map { FormRow($0.form, $0.part, sees: Set($0.facts.keys)) }
        #expect(try flaws(of: forms, in: "PreciseTimerTestKit") == [])
    }

    @Test(arguments: TimerClock.allCases) func timeBeginsAtTheChosenInstantOfAnyClock(clock: TimerClock) {
        let start = TimerInstant(nanoseconds: 1_774_742_400_000_000_000, clock: clock)
        var all = [VirtualTime(at: start), VirtualTime(clock: clock, at: start)]
        if clock == .wall { all.append(VirtualTime(at: Date(timeIntervalSince1970: 1_774_742_400))) }
        for virtual in all {
            #expect([virtual.now, virtual.service.now, virtual.clock.now] == [start, start, start])
        }
    }

    @Test func timeCannotBeginAtAnInstantThatNeverComes() async {
        await #expect(processExitsWith: .failure) { _ = VirtualTime(at: .never(on: .wall)) }
    }
}
