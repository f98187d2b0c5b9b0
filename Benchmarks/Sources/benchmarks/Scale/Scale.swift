import ArgumentParser

/// The price of each operation for several numbers of pending timers.
struct Scale: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "The price of schedule, cancel, reschedule, fire and tick, with up to a million timers pending."
    )
    static let heading = "Scale: nanoseconds per operation"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        let beside = try options.beside.map(Beside.init(package:))
        var results: [ScaleKey: Figures] = [:]
        var quotes = BesideFigures()
        for count in options.counts {
            for round in options.rounds(with: count) {
                for order in Sample.Order.allCases {
                    for side in Side.allCases where side.takesPart(with: count) {
                        let what = "\(grouped(count)) timers, \(order.rawValue)"
                        progress("scale: \(what), round \(round + 1): \(side.title)")
                        for (operation, figure) in try ScaleCase.figures(side, count, order, tick: false) {
                            let key = ScaleKey(side: side, count: count, order: order, operation: operation)
                            results[key, default: Figures()].values.append(figure)
                        }
                    }
                }
                if count == options.counts.last, let beside {
                    progress("scale: round \(round + 1): the programs beside")
                    quotes.add(try beside.run())
                }
            }
        }
        for round in options.rounds(with: Storm.timers) {
            for side in Side.allCases {
                progress("scale: ticks, round \(round + 1): \(side.title)")
                let figure = try ScaleCase.figures(side, Storm.timers, .sequential, tick: true)[.tick]
                let key = ScaleKey(side: side, count: 0, order: .sequential, operation: .tick)
                results[key, default: Figures()].values += figure.map { [$0] } ?? []
            }
        }
        let tables = ScaleTables(results: results)
        let scales = options.counts.flatMap { count in Sample.Order.allCases.map { tables.table(count, $0) } }
        return scales + [tables.tickTable()] + (beside == nil ? [] : quotes.tables(results))
    }
}

/// Which side, sample and operation a figure belongs to.
struct ScaleKey: Hashable {
    let side: Side
    let count: Int
    let order: Sample.Order
    let operation: Operation
}

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
