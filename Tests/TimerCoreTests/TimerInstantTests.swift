import Testing
import TimerCore

/// Instants and durations: exact, rounded up, saturating.
struct TimerInstantTests {
    private let second = TimerInstant(nanoseconds: 1_000_000_000)

    @Test func durationsAreRoundedUpToWholeNanoseconds() {
        let atto = Duration(secondsComponent: 0, attosecondsComponent: 1)
        #expect(atto.nanosecondsRoundedUp == 1)
        #expect((.zero - atto).nanosecondsRoundedUp == 0)
        #expect((.nanoseconds(7) + atto).nanosecondsRoundedUp == 8)
        #expect((.nanoseconds(-7) - atto).nanosecondsRoundedUp == -7)
        #expect(Duration.seconds(3).nanosecondsRoundedUp == 3_000_000_000)
        #expect(second.advanced(by: .nanoseconds(7) + atto).nanoseconds == 1_000_000_008)
    }

    @Test(arguments: [
        Duration.seconds(Int64.max) * 18, .seconds(Int64.max), .seconds(9_223_372_037), .nanoseconds(Int64.max),
    ])
    func veryLargeDurationsSaturateToNever(_ duration: Duration) {
        #expect(duration.nanosecondsRoundedUp == .max)
        #expect(second.advanced(by: duration).isNever)
    }

    @Test func veryNegativeDurationsSaturateToTheOrigin() {
        #expect(Duration.seconds(Int64.min).nanosecondsRoundedUp == .min)
        #expect((Duration.seconds(Int64.min) * 18).nanosecondsRoundedUp == .min)
        #expect(second.advanced(by: .seconds(Int64.min)).nanoseconds == 0)
        let late = TimerInstant(nanoseconds: .max - 1)
        #expect(late.advanced(by: late.duration(to: TimerInstant(nanoseconds: 0))).nanoseconds == 0)
        #expect(second.advanced(by: .seconds(-2)).nanoseconds == 0)
        #expect(second.advanced(by: .milliseconds(-400)).nanoseconds == 600_000_000)
    }

    @Test func sumsPastTheEndAreNeverAndNeverStaysNever() {
        let late = TimerInstant(nanoseconds: .max - 5)
        #expect(late.advanced(by: .nanoseconds(4)).nanoseconds == UInt64.max - 1)
        #expect(late.advanced(by: .nanoseconds(5)).isNever)
        #expect(late.advanced(by: .nanoseconds(6)).isNever)
        #expect(TimerInstant.never(on: .suspending).advanced(by: .seconds(-5)).isNever)
    }

    @Test func distancesAreExactInBothDirectionsAndBeyondInt64() {
        let origin = TimerInstant(nanoseconds: 0)
        let end = TimerInstant.never(on: .suspending)
        #expect(origin.duration(to: second) == .seconds(1))
        #expect(second.duration(to: origin) == .seconds(-1))
        #expect(origin.duration(to: end) == .nanoseconds(Int64.max) + .nanoseconds(Int64.max) + .nanoseconds(1))
    }

    @Test(arguments: TimerClock.allCases)
    func theOriginOfAClockIsItsFirstInstant(clock: TimerClock) {
        let origin = TimerInstant.origin(on: clock)
        #expect(origin.nanoseconds == 0)
        #expect(origin.clock == clock)
        #expect(origin.advanced(by: .seconds(-1)) == origin)
        #expect(TimerInstant.never(on: clock).advanced(by: .seconds(-1)) > origin)
    }

    @Test func theDescriptionNamesNanosecondsAndClock() {
        #expect(second.description == "1000000000 ns (suspending)")
        #expect(TimerInstant.never(on: .suspending).description == "never (suspending)")
    }
}
