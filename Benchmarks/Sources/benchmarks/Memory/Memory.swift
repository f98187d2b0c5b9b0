import ArgumentParser

/// Bytes per timer, and the share that stays after the timers' end.
struct Memory: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Bytes per timer, and how much memory stays after the timers have ended."
    )
    static let heading = "Memory"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var table = Table(
            title: "Bytes per timer at \(grouped(options.many)) (Dispatch at 100,000); × Dispatch",
            columns: ["", "resident", "allocated", "stays of the peak", "asked"],
            remarks: ["One round, each row in a separate process: the figures hardly vary."]
        )
        var rows: [MemoryCase.Kind: [String: Double]] = [:]
        for kind in MemoryCase.Kind.allCases {
            progress("memory: \(kind.title)")
            let count = kind == .dispatch ? min(options.many, DispatchTimers.mostTimers) : options.many
            rows[kind] = try Program.figures(of: ["memory-case", kind.rawValue, "\(count)"])
        }
        for kind in MemoryCase.Kind.allCases {
            let sizes = ["resident", "allocated"]
                .map { name in
                    let reference = kind == .dispatch ? nil : rows[.dispatch]?[name].map { Figures(values: [$0]) }
                    return rows[kind]?[name].map { Figures(values: [$0]).text(.bytes, against: reference) } ?? "–"
                }
            let stays = rows[kind]?["stays"].map { "\(($0 * 100).short) %" } ?? "–"
            table.rows.append([kind.title] + sizes + [stays, kind.asked])
        }
        return [table]
    }
}

extension MemoryCase.Kind {
    fileprivate var title: String {
        switch self {
        case .dropped: "one target, handle dropped"
        case .held: "one target, handle held"
        case .ownTarget: "own target with its side table, handle dropped"
        case .ownTargetHeld: "own target with its side table, handle held"
        case .dispatch: "DispatchSourceTimer, one target"
        case .nio: "SwiftNIO's scheduled task, one target"
        }
    }

    fileprivate var asked: String {
        switch self {
        case .dropped: "≤ 200 B, ≤ 10 % stays"
        case .held: "≤ 300 B, ≤ 10 % stays"
        case .ownTarget, .ownTargetHeld: "≤ 300 B"
        case .dispatch, .nio: ""
        }
    }
}
