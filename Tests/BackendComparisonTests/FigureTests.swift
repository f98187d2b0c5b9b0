#if Instrument && DEBUG
import Foundation
import Testing

@testable import BackendComparison

/// The figures in each form: in words, as JSON, CSV, Markdown and a wide table, and in a need.
@Suite struct FigureTests {
    /// A figure, its key, a value with a range, and both in words. Its name is the title in a wide table.
    private static let figures: [(Figure, key: String, Estimate, text: String, range: String)] = [
        (.p50, "p50_ns", Estimate(39_000, 38_000...41_000), "39 µs", "39 µs (38–41)"),
        (.p90, "p90_ns", Estimate(4_400_000, 950_000...46_000_000), "4.4 ms", "4.4 ms (0.95–46)"),
        (.p99, "p99_ns", Estimate(26_000_000), "26 ms", "26 ms (?)"),
        (.p999, "p999_ns", Estimate(120, 0...1_000), "0.12 µs", "0.12 µs (0.0–1.0)"),
        (.missed, "missed_percent", Estimate(2.5, 0.04...12), "2.5 %", "2.5 % (0.0–12.0)"),
        (.drift, "drift_ppm", Estimate(12.4, 9...15), "12 ppm", "12 ± 3 ppm"),
        (.cpu, "cpu_percent", Estimate(3), "3.0 %", "3.0 %"),
        (.wakeUps, "wakeups_per_tick", Estimate(1, 0.999...1.25), "1.00", "1.00 (1.00–1.25)"),
        (.switches, "switches_per_tick", Estimate(1.005, 1...2), "1.00", "1.00 (1.00–2.00)"),
    ]

    @Test func eachHasItsKeyItsUnitAndItsRange() {
        #expect(Self.figures.map(\.0) == Figure.allCases && Self.figures.map(\.0.field) == Self.figures.map(\.key))
        #expect(Self.figures.map { $0.0.text($0.2.value) } == Self.figures.map(\.text))
        #expect(Self.figures.map { $0.0.text($0.2) } == Self.figures.map(\.range))
        for figure in Figure.allCases {
            let unit =
                ["ns": "us", "percent": "%", "ppm": "ppm"][String(figure.field.split(separator: "_").last ?? "")] ?? ""
            #expect(throws: Never.self) { try Need.parse("timerfd.\(figure.rawValue) < 2\(unit)") }
        }
    }

    /// Of 8,000 deadlines, so that no figure is missing.
    private static let report = Synthetic.report(
        of: [("timerfd", 39_000.0), ("\"b\"|c*", 120), ("a,b", 60_000)]
            .map { Synthetic.row($0.0, lateness: $0.1, laps: 400) }
    )

    @Test func eachIsInEveryForm() throws {
        let (csv, wide) = (Self.report.csv.split(separator: "\n"), Self.report.screen(isWide: true))
        let json = try JSONFile.encode(Self.report)
        let keys = Self.figures.map(\.key) + ["max_ns"]
        #expect(csv[0] == "row,load,figure,value,low,high" && csv.count == 1 + 3 * keys.count)
        for (row, name) in zip(Self.report.rows, ["timerfd", "\"\"\"b\"\"|c*\"", "\"a,b\""]) {
            for (figure, key, _, _, _) in Self.figures {
                let known = try #require(row.figures[figure])
                let ends = known.interval.map { "\($0.lowerBound),\($0.upperBound)" } ?? ","
                #expect(csv.contains("\(name),idle,\(key),\(known.value),\(ends)"))
            }
            #expect(csv.contains { $0.hasPrefix("\(name),idle,max_ns,") && $0.hasSuffix(",,") })
        }
        #expect(keys.filter { json.split(separator: "\"\($0)\":{\"estimate\":").count != 4 } == [])
        #expect((Figure.allCases.map(\.rawValue) + ["worst", "waited"]).filter { !wide.contains($0) } == [])
        #expect(wide.contains(#/\|c\* .*3\d µs \(\d+–\d+\) earlier/#))
    }

    @Test func markdownIsTheScreen() {
        let text = Self.report.markdown
        let title = "\n| row | p50 | p99 (range) | missed | drift ppm | CPU | than timerfd |\n| --- | ---: |"
        let parts = ["1 ms timer · 30 s", title, "\n| \"b\"\\|c\\* | 0.12 µs | ", "\n- timerfd is enough unless "]
        #expect(parts.filter { !text.contains($0) } == [])
    }

    @Test func timesHaveTwoDigitsInTheUnitThatFits() {
        let times = [39_000, 331_000_000, 1_500_000_000, 999_600, 0, 9_960, 994_000].map(NumberText.time)
        #expect(times == ["39 µs", "331 ms", "1.5 s", "1.0 ms", "0.0 µs", "10 µs", "994 µs"])
    }
}
#endif
