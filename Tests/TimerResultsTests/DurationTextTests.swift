import Testing
import TimerResults

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("500ns", Duration.nanoseconds(500)), ("250us", .microseconds(250)), ("250µs", .microseconds(250)),
        ("1ms", .milliseconds(1)), ("1.5ms", .microseconds(1500)), ("2s", .seconds(2)), ("5m", .seconds(300)),
        ("0.000000001s", .nanoseconds(1)), ("007ms", .milliseconds(7)), ("0s", .zero), ("1.50s", .milliseconds(1500)),
        ("0.5m", .seconds(30)), ("9223372036s", .seconds(9_223_372_036)), ("1.000ns", .nanoseconds(1)),
    ])
    func lengthsAreReadExactly(text: String, length: Duration) throws {
        #expect(try DurationText.parse(text) == length)
    }

    @Test(arguments: [
        "", "1", "ms", "-1ms", "+1ms", " 1ms", "1 ms", "1ms ", "60 hz", "nan", "inf", "1e400", "1e3ms", ".5s", "5.s",
        "1.2.3s", ".", "..s", "0x1s", "1w", "1MS", "١ms", "1,5ms", "1ms\n", "1_000ms",
    ])
    func nonsenseIsMalformed(text: String) {
        #expect(throws: DurationText.malformed) { try DurationText.parse(text) }
    }

    @Test(arguments: ["10000000000000000000s", "9223372037s", "99999999999999999999999999ns", "9223372036854775808ns"])
    func aLengthBeyondTheRangeIsTooLong(text: String) {
        #expect(throws: DurationText.tooLong) { try DurationText.parse(text) }
    }

    @Test(arguments: ["0.5ns", "1.0000000001s", "1.0001us"])
    func fractionsOfANanosecondAreTooFine(text: String) {
        #expect(throws: DurationText.tooFine) { try DurationText.parse(text) }
    }

    @Test(arguments: [
        (UInt64(0), "0ns"), (999, "999ns"), (1000, "1us"), (1500, "1.5us"), (1_000_000, "1ms"), (1_050_000, "1.05ms"),
        (700_000_000, "700ms"), (2_000_000_000, "2s"), (90_000_000_000, "90s"), (1_000_000_001, "1.000000001s"),
    ])
    func lengthsAreWrittenExactly(nanoseconds: UInt64, text: String) throws {
        #expect(DurationText.format(nanoseconds: nanoseconds) == text)
        #expect(try DurationText.parse(text) == .nanoseconds(Int64(nanoseconds)))
    }
}
