import PreciseTimer
import Testing
import TimerKernel

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
        Duration.seconds(Int64.max) * 18, .seconds(Int64.max), .seconds(18_446_744_073), .nanoseconds(Int64.max) * 2,
    ])
    func veryLargeDurationsSaturateToNever(_ duration: Duration) {
        #expect(duration.nanosecondsRoundedUp == .max)
        #expect(second.advanced(by: duration).isNever)
    }

    @Test func anInstantIsReachedByItsDistanceEvenOver292Years() {
        let late = TimerInstant(nanoseconds: .max - 1)
        for years in [291, 293, 584] {
            let length = Duration.seconds(years * 31_556_952)
            let there = second.advanced(by: length)
            #expect(!there.isNever)
            #expect(second.duration(to: there) == length)
            #expect(there.advanced(by: .zero - length) == second)
            #expect(late.advanced(by: .zero - length).duration(to: late) == length)
        }
        #expect(second.advanced(by: second.duration(to: late)) == late)
        #expect(second.advanced(by: .nanoseconds(Int64.max)).nanoseconds == UInt64(Int64.max) + 1_000_000_000)
        #expect(late.advanced(by: .nanoseconds(Int64.min)).nanoseconds == UInt64(Int64.max) - 1)
    }

    @Test func veryNegativeDurationsSaturateToTheOrigin() {
        #expect(Duration.seconds(Int64.min).nanosecondsRoundedUp == .min)
        #expect((Duration.seconds(Int64.min) * 18).nanosecondsRoundedUp == .min)
        #expect(second.advanced(by: .seconds(Int64.min)).nanoseconds == 0)
        let late = TimerInstant(nanoseconds: .max - 1)
        #expect(late.advanced(by: late.duration(to: TimerInstant(nanoseconds: 0))).nanoseconds == 0)
        #expect(late.advanced(by: .seconds(-18_446_744_074)).nanoseconds == 0)
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

/// Durations as messages and descriptions show them.
struct DurationTextTests {
    @Test(arguments: [
        (Duration.zero, "0 s"), (.nanoseconds(1), "1 ns"), (.nanoseconds(999), "999 ns"), (.microseconds(1), "1 µs"),
        (.nanoseconds(12_300), "12.3 µs"), (.nanoseconds(999_999), "999.999 µs"), (.milliseconds(1), "1 ms"),
        (.microseconds(1_050), "1.05 ms"), (.nanoseconds(999_999_999), "999.999999 ms"), (.seconds(1), "1 s"),
        (.milliseconds(1_500), "1.5 s"), (.seconds(60), "60 s"), (.seconds(3_600), "3600 s"),
        (.seconds(1) + .nanoseconds(1), "1.000000001 s"), (.seconds(100), "100 s"), (.microseconds(100), "100 µs"),
    ])
    func aDurationReadsInTheLargestUnitOfWhichItIsAtLeastOne(duration: Duration, text: String) {
        #expect(duration.text == text)
    }

    @Test(arguments: [1, 20, 300, 4_000, 1_000_000, 1_002_003, 5_000_000_000, 86_400_000_000_001] as [Int64])
    func aNegativeDurationReadsLikeThePositiveOneWithASign(nanoseconds: Int64) {
        #expect(Duration.nanoseconds(-nanoseconds).text == "-" + Duration.nanoseconds(nanoseconds).text)
    }

    @Test func aTextIsExactToTheNanosecond() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<5_000 {
            // All magnitudes are equally likely, and either sign.
            let bits = Int64.random(in: 0...62, using: &random)
            let nanoseconds = Int64.random(in: -(1 << bits)...(1 << bits), using: &random)
            let text = Duration.nanoseconds(nanoseconds).text
            #expect(Self.nanoseconds(of: text) == nanoseconds, "\(text)")
        }
    }

    @Test func partsOfANanosecondAreLeftOut() {
        let atto = Duration(secondsComponent: 0, attosecondsComponent: 1)
        #expect((.nanoseconds(1) + atto).text == "1 ns")
        #expect((.nanoseconds(-1) - atto).text == "-1 ns")
        #expect((.seconds(2) - atto).text == "1.999999999 s")
    }

    @Test func aLengthBelowANanosecondDoesNotReadAsZero() {
        let atto = Duration(secondsComponent: 0, attosecondsComponent: 1)
        #expect(atto.text == "1e-18 seconds")
        #expect((.nanoseconds(1) - atto).text == "9.99999999e-10 seconds")
        #expect((.zero - atto).text == "-1e-18 seconds")
    }

    @Test func theLongestDurationsReadInSeconds() {
        #expect(Duration.seconds(Int64.max).text == "9223372036854775807 s")
        #expect(Duration.seconds(Int64.min).text == "-9223372036854775808 s")
        let longest = Duration(attoseconds: .max)
        #expect(longest.text == "170141183460469231731.687303715 s")
        #expect(Duration(attoseconds: .min).text == "-170141183460469231731.687303715 s")
    }

    /// The nanoseconds of a text with a number and a unit; nil if it is another text.
    private static func nanoseconds(of text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let digits = ["s": 9, "ms": 6, "µs": 3, "ns": 0][String(parts[1])] else { return nil }
        let number = parts[0].split(separator: ".")
        let decimals = number.count == 2 ? String(number[1]) : ""
        guard decimals.count <= digits, !decimals.hasSuffix("0") else { return nil }
        return Int64(number[0] + decimals + String(repeating: "0", count: digits - decimals.count))
    }
}
