import ArgumentParser

/// One side's figures with one sample, measured in a separate process.
struct ScaleCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "scale-case", shouldDisplay: false)

    @Argument var side: Side
    @Argument var count: Int
    @Argument var order: Sample.Order
    @Flag var tick = false

    func run() throws {
        if tick { return Program.report(Operation.tick.rawValue, try side.tick()) }
        for (operation, figure) in try side.operations(Sample(count: count, order: order)) {
            Program.report(operation.rawValue, figure)
        }
    }

    /// Runs the command. Returns nanoseconds per operation.
    static func figures(_ side: Side, _ count: Int, _ order: Sample.Order, tick: Bool) throws -> [Operation: Double] {
        let arguments = ["scale-case", side.rawValue, "\(count)", order.rawValue] + (tick ? ["--tick"] : [])
        return try Program.figures(of: arguments)
            .reduce(into: [:]) { figures, figure in
                if let operation = Operation(rawValue: figure.key) { figures[operation] = figure.value }
            }
    }
}

extension Sample.Order: ExpressibleByArgument {}
