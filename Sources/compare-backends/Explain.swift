internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerResults

/// Measures, and finds the causes of late ticks.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure, and say why the late ticks were late.",
        discussion: """
            After each tick, the thread reads the kernel's account of itself. A late tick waited for a processor, or \
            for the thread's own work, or for an idle processor to wake up; or other guests of the host ran; or else \
            the host or another thread held it up. The cause is what explains at least half of the lateness. The \
            reading is part of the price that the table shows.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The lateness from which on a tick is late.", valueName: "time"),
        transform: { try DurationText.parse($0) }
    )
    var laterThan: Duration = .microseconds(500)

    @OptionGroup(title: "What to measure")
    var measurement: MeasurementOptions

    @OptionGroup(title: "What to ask of the system")
    var system: SystemOptions

    @OptionGroup(title: "What to write")
    var output: OutputOptions

    func validate() throws {
        try MeasurementPlan.validate { try plan(for: measurement.backends ?? Backends.usual) }
    }

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try plan(for: Backends.measured(measurement.backends, on: measurement.clock))
        console.catchInterrupt()
        let (report, failure) = try measurement.results(of: plan, into: output, &console)
        try report.complain(failure, &console)
    }

    private func plan(for backends: [TimerService.Backend]) throws -> MeasurementPlan {
        try measurement.plan(for: backends, asking: system.wishes, explaining: laterThan)
    }
}
