import ArgumentParser
import Foundation

/// All measurements, in one report.
struct Report: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs all measurements and writes a report in Markdown. Takes up to 15 minutes.",
        aliases: ["all"]
    )
    private static let measurements: [any Measurement.Type] = [
        Scale.self, Contention.self, Stall.self, Memory.self, WakeUps.self, StatisticsPrice.self, TimeOuts.self,
        Instructions.self,
    ]

    @OptionGroup var options: Options

    @Option(help: ArgumentHelp("The file to write. Default: standard output.", valueName: "file"))
    var output: String?

    func run() throws {
        let start = Clock.now()
        var parts = ["# Benchmarks\n", try Host.description() + "\n", Self.reading]
        for measurement in Self.measurements {
            parts.append("## \(measurement.heading)\n")
            parts += try measurement.tables(options).map(\.markdown)
        }
        let kind = options.quick ? "A quick run: one round, and 100,000 timers instead of a million." : "A full run."
        parts.append("\(kind) It took \(Unit.time.text(Double(Clock.now() - start))).")
        let text = parts.joined(separator: "\n") + "\n"
        guard let output else { return print(text, terminator: "") }
        try text.write(toFile: output, atomically: true, encoding: .utf8)
    }

    private static let reading = """
        Sides take turns within each round, and the figures are medians. Ratios stand first, absolute figures in
        brackets; each heading names the reference of the ratio. "asked" is the value that PreciseTimer must reach.
        [How it is measured](../Benchmarks/README.md).

        """
}
