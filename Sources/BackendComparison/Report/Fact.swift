/// What is known of the machine or of the measurement, for a reader who repeats it: a name, and a few sentences. JSON
/// and the page have them.
struct Fact: Codable, Hashable, Sendable {
    let name: String
    let text: String

    /// The facts in the order of the page.
    static func all(of results: Results) -> [Fact] {
        let early = results.rows.filter { $0.early > 0 }.map { "\($0.key) ticked early \($0.early) times" }
        let facts: [(String, [String])] = [
            ("Machine", [machine(results.host)]), ("Clock", clock(results)), ("Method", method(results)),
            ("Disturbance", disturbance(results.machine)), ("Origin", [origin(results)]),
            ("Remarks", early),
        ]
        return facts.filter { !$0.1.isEmpty }
            .map { name, sentences in Fact(name: name, text: sentences.map { "\($0)." }.joined(separator: " ")) }
    }

    private static func machine(_ host: Host) -> String {
        let usable = host.usableProcessors ?? host.processors
        let parts: [String?] = [
            host.cpu, host.machine, count(host.processors, "processor"),
            usable < host.processors ? "\(usable) of them usable" : nil,
            host.cpuQuota.map { "a quota of \(NumberText.fixed($0, places: 2)) processors" },
            host.governor.map { "governor \($0)" }, host.hypervisor == true ? "a guest of a hypervisor" : nil,
            "\(host.system) \(host.kernel)",
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    private static func clock(_ results: Results) -> [String] {
        let host = results.host
        let reading = host.clockRead.map { "One reading takes \(NumberText.time($0))" }
        return ["\(results.options.clock) (\(host.clockSource ?? "of an unknown source"))"]
            + [reading].compactMap(\.self)
    }

    private static func method(_ results: Results) -> [String] {
        let options = results.options
        let (period, turn) = (options.period, options.turn)
        let sentences: [String?] = [
            "\(count(options.timers, "timer")), every \(DurationText.spaced(nanoseconds: period)), delivered "
                + options.delivery,
            "\(count(results.laps.count, "lap")), in which each row has one turn of "
                + "\(DurationText.spaced(nanoseconds: turn)), in random order (seed \(options.seed))",
            options.stretch == 0
                ? nil
                : "The drift is of a stretch of \(DurationText.spaced(nanoseconds: options.stretch)), "
                    + "in which all rows tick at the same time",
            options.thread.map { "Threads: \($0)" },
            options.why.map { "Each tick later than \(DurationText.spaced(nanoseconds: $0)) was traced to its cause" },
        ]
        return sentences.compactMap(\.self)
    }

    private static func disturbance(_ machine: MachineState) -> [String] {
        func percent(_ share: Double) -> String { "\(NumberText.fixed(share, places: 1)) %" }
        let load = machine.loadAverage.map { " (load \(NumberText.fixed($0, places: 1)))" } ?? ""
        let sentences: [String?] = [
            machine.others.map { "Other programs used \(percent($0)) of the processors\(load)" },
            machine.waiting.map { "Programs waited for a processor \(percent($0)) of the time" },
            machine.stolen.map { "Other guests of the host took \(percent($0))" },
            machine.quota.map { "Throttling: \($0.words)" },
        ]
        let unknown: [String?] = [
            machine.others == nil ? "what other programs used\(load)" : nil,
            machine.waiting == nil ? "how long programs waited for a processor" : nil,
            machine.stolen == nil ? "what other guests of the host took" : nil,
        ]
        let missing = unknown.compactMap(\.self)
        return sentences.compactMap(\.self) + (missing.isEmpty ? [] : ["Unknown: \(missing.listed)"])
    }

    private static func origin(_ results: Results) -> String {
        let (origin, build) = (results.origin, results.host.build.rawValue)
        let date = origin.date.replacing("T", with: " ").replacing("Z", with: " UTC")
        return "compare-backends \(origin.version), \(build) build, \(date), in \(origin.duration)"
    }

    private static func count(_ number: Int, _ thing: String) -> String {
        "\(NumberText.grouped(UInt64(clamping: number))) \(thing)\(number == 1 ? "" : "s")"
    }
}
