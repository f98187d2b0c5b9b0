import ArgumentParser

/// The command.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks",
        abstract: "Measures PreciseTimer beside Dispatch, SwiftNIO, Task.sleep, libevent, and bare loops in C.",
        discussion: """
            Sides take turns within each round; the printed figures are medians. Ratios stand first, and absolute \
            figures in brackets. "asked" is the value that this library has to reach.
            """,
        subcommands: [
            Scale.self, Contention.self, Stall.self, Memory.self, WakeUps.self, StatisticsPrice.self, TimeOuts.self,
            Instructions.self, Report.self, ScaleCase.self, MemoryCase.self, WakeUpCase.self,
        ]
    )
}
