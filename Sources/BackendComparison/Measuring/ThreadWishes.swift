internal import PreciseTimer

/// What a measurement asks of the system for its threads, and of rows that spin: `fifo:80 cpu:1 locked idle:0`.
package struct ThreadWishes: Equatable, Sendable {
    /// The wishes as on the command line; nil for none.
    package private(set) var text: String?
    private var options = TimerService.ThreadOptions()
    private var spin = TimerService.SpinOptions()
    /// Whether a wish is about spinning.
    private(set) var wishesSpin = false

    private static let forms =
        "write fifo:80; cpu:1 or cpu:0,2-3; slack:50us; slice:1ms; locked; idle:20us or idle:0; spin:200us; "
        + "budget:20%; with spaces between them"

    /// Reads words with spaces between them. The library checks the values.
    package static func parse(_ text: String) throws(Failure) -> ThreadWishes {
        var wishes = ThreadWishes()
        let words = text.split(separator: " ").map(String.init)
        guard !words.isEmpty else { throw .invalid(forms) }
        var kinds: Set<Substring> = []
        for word in words {
            let name = word.prefix { $0 != ":" }
            guard kinds.insert(name).inserted else { throw .invalid("one kind of wish is given twice: \(word)") }
            try wishes.add(word)
        }
        wishes.text = words.joined(separator: " ")
        return wishes
    }

    private mutating func add(_ word: String) throws(Failure) {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count) {
        case ("locked", 1): options.locksMemory = true
        case ("fifo", 2):
            guard let priority = Int(parts[1]) else { throw .invalid("a priority is a whole number, not \(parts[1])") }
            options.policy = .fifo(priority: priority)
        case ("cpu", 2):
            guard let processors = Processors.numbers(in: parts[1]) else {
                throw .invalid("write processors as in cpu:1 or cpu:0,2-3, not \(parts[1])")
            }
            options.affinity = Set(processors)
        case ("slack", 2): options.timerSlack = try DurationText.parse(parts[1])
        case ("slice", 2): options.slice = try Self.duration(parts[1])
        case ("idle", 2): options.idleLatency = try Self.duration(parts[1])
        case ("spin", 2): (spin.maximum, wishesSpin) = (try DurationText.parse(parts[1]), true)
        case ("budget", 2):
            let digits = parts[1].hasSuffix("%") ? String(parts[1].dropLast()) : parts[1]
            guard let percent = Double(digits), (0.01...90).contains(percent) else {
                throw .invalid("a budget is 0.01% to 90% of a core, not \(parts[1])")
            }
            (spin.budget, wishesSpin) = (percent / 100, true)
        default: throw .invalid("\(word) is not a thread wish: \(Self.forms)")
        }
    }

    /// Zero is no time in any unit.
    private static func duration(_ text: String) throws(Failure) -> Duration {
        text == "0" ? .zero : try DurationText.parse(text)
    }
}

extension ThreadWishes {
    /// The options of a row's own thread. Bare loops and backends get the same.
    var ofThread: TimerService.ThreadOptions {
        var options = options
        (options.locksMemory, options.idleLatency) = (false, nil)
        return options
    }

    /// How long a row that spins may spin before a deadline.
    var longestSpin: Duration { spin.maximum }

    /// Starts a service of a row.
    func startService(on backend: TimerService.Backend, clock: TimerClock) throws(TimerError) -> TimerService {
        let spin = backend == .hybrid && wishesSpin ? spin : nil
        let service = try TimerService(backend, clock: clock, thread: ofThread, spin: spin)
        // Loads and short periods make the probe's handlers slow on purpose: no news for a program that compares.
        service.ignoreSlowHandlers()
        return service
    }

    /// Starts a service that holds what concerns the whole process or machine, for all rows alike; nil if there is no
    /// such wish. It has no timers.
    func startCompanion() throws(TimerError) -> TimerService? {
        guard options.locksMemory || options.idleLatency != nil else { return nil }
        let held = TimerService.ThreadOptions(locksMemory: options.locksMemory, idleLatency: options.idleLatency)
        return try TimerService(.timerFD, thread: held)
    }

    /// Asks the system for everything, before anything is measured. Returns the rows whose threads are not the
    /// library's, which get none of it. Throws `Failure` if the system refuses a wish, since the figures would be
    /// an answer to another question, or if a wish makes no sense.
    func ask(for rows: [NamedRow], clock: TimerClock) throws -> [String] {
        guard text != nil else { return [] }
        let wishesOfThread = TimerService.ThreadGrant.Option.allCases.contains(where: wishes)
        var foreign: [String] = []
        do {
            let companion = try startCompanion()
            defer { companion?.shutdown() }
            try Self.check(companion?.grant)
            for row in rows {
                var grant: TimerService.ThreadGrant?
                if let backend = row.backend {
                    grant = try ownGrant(on: backend, row.clock(asked: clock))
                } else if case .bare = row.mechanism {
                    // Its thread asks for the same as that of a backend with a thread of its own.
                    grant = try ownGrant(on: .timerFD, clock)
                }
                try Self.check(grant)
                let asked = grant?.items.filter { wishes($0.option) } ?? []
                if wishesOfThread, asked.isEmpty || asked.contains(where: { $0.refusal != nil }) {
                    foreign.append(row.name)
                }
            }
        } catch let error as TimerError where error.code == .invalidOption { throw Failure.invalid(error.attempted) }
        return foreign
    }

    private func ownGrant(on backend: TimerService.Backend, _ clock: TimerClock) throws -> TimerService.ThreadGrant {
        let service = try startService(on: backend, clock: clock)
        defer { service.shutdown() }
        return service.grant
    }

    /// Whether a wish is about the policy of the rows' threads.
    var wishesPolicy: Bool { wishes(.policy) }

    private func wishes(_ option: TimerService.ThreadGrant.Option) -> Bool {
        switch option {
        case .policy: options.policy != .normal
        case .affinity: !options.affinity.isEmpty
        case .timerSlack: options.timerSlack != nil
        case .slice: options.slice.map { $0 > .zero } ?? false
        default: false
        }
    }

    /// What the system itself refused, and not only the row.
    private static func check(_ grant: TimerService.ThreadGrant?) throws(Failure) {
        for item in grant?.refusals ?? [] {
            guard let refusal = item.refusal, let errno = refusal.errno else { continue }
            let reason = "\(refusal.systemMessage ?? "unknown error"), errno \(errno)"
            let advice = item.advice.map { ". \($0)" } ?? ""
            throw .refused("the system refuses \(item.option.rawValue) \(item.asked) (\(reason))\(advice)")
        }
    }
}
