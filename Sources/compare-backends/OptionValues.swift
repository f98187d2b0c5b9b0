internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerResults

extension HandlerPlace: ExpressibleByArgument {}

/// The backends to measure.
enum Backends {
    /// The backends without --backends, unless one is missing here.
    static var usual: [TimerService.Backend] { TimerService.Backend.allCases }

    /// The value of --backends: names with commas between them.
    static func parse(_ text: String) throws -> [TimerService.Backend] {
        try text.split(separator: ",", omittingEmptySubsequences: false)
            .map { name in
                guard let backend = TimerService.Backend(rawValue: String(name)) else {
                    let known = TimerService.Backend.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Problem("the backends are \(known)")
                }
                return backend
            }
    }

    /// The backends that the user named, or every backend that this build and this clock allow.
    static func measured(
        _ asked: [TimerService.Backend]?,
        on clock: TimerClock
    ) throws -> [TimerService.Backend] {
        guard let asked else { return usual.filter { problem(of: $0, on: clock) == nil } }
        for backend in asked {
            if let problem = problem(of: backend, on: clock) { throw Exit.unavailable(backend.rawValue, problem) }
        }
        return asked
    }

    /// One line about each backend that is left out without the user's wish.
    static func leftOut(_ asked: [TimerService.Backend]?, on clock: TimerClock) -> [String] {
        guard asked == nil else { return [] }
        return TimerService.Backend.allCases.compactMap { backend in
            problem(of: backend, on: clock).map { "\(backend.rawValue) is left out: \($0)" }
        }
    }

    /// Why a backend cannot be measured; nil if it can.
    private static func problem(of backend: TimerService.Backend, on clock: TimerClock) -> String? {
        if case .unavailable(let reason) = backend.availability { return reason }
        guard !backend.clocks.contains(clock) else { return nil }
        let able = TimerService.Backend.allCases.filter { $0.clocks.contains(clock) }.map(\.rawValue)
        return "it cannot wait on the \(clock.rawValue) clock; \(able.joined(separator: " and ")) can"
    }
}

/// The references to measure.
enum References {
    /// The bare loops. cyclictest costs as much time as three other rows, so it waits until it is asked for.
    static var usual: [Row] { Reference.allCases.map { Row(.reference($0)) } }

    /// All references. cyclictest is one if it can measure here.
    static var available: [Row] { usual + (Cyclictest.obstacle == nil ? [Row(.referee)] : []) }

    /// The value of --references: names with commas between them, or none.
    static func parse(_ text: String) throws -> [Row] {
        if text == "none" { return [] }
        return try text.split(separator: ",", omittingEmptySubsequences: false)
            .map { name in
                guard let row = available.first(where: { $0.name == name }) else {
                    if name == RowKey.cyclictest, let obstacle = Cyclictest.obstacle {
                        throw Problem("\(name) is \(obstacle)")
                    }
                    throw Problem("the references are none or \(available.map(\.name).joined(separator: ", "))")
                }
                return row
            }
    }
}

/// A whole number. The plan checks its size.
enum WholeNumber {
    static func parse<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw Problem("write a whole number, as in 3") }
        return number
    }
}

/// A number of percent, with or without its sign.
enum Percent {
    static func parse(_ text: String) throws -> Double {
        let digits = text.hasSuffix("%") ? text.dropLast() : text[...]
        guard let percent = Double(digits), (0.01...1_000_000).contains(percent) else {
            throw Problem("write 0.01 to 1000000 percent, as in 5 or 2.5%")
        }
        return percent
    }
}

/// A share of one processor core.
enum Budget {
    static func parse(_ text: String) throws -> Double {
        guard let percent = try? Percent.parse(text), percent <= 100 else {
            throw Problem("write 0.01 to 90 percent of a core, as in 10%")
        }
        return percent
    }
}

/// The longest time to leave an idle state. Zero is no time in any unit.
enum IdleLatency {
    static func parse(_ text: String) throws -> Duration {
        let latency = text == "0" ? .zero : try DurationText.parse(text)
        guard latency == .microseconds(Int64(latency / .microseconds(1))) else {
            throw Problem("write whole microseconds, as in 20us or 0")
        }
        return latency
    }
}

/// A clock by its name.
enum ClockName {
    static func parse(_ text: String) throws -> TimerClock {
        guard let clock = TimerClock(rawValue: text) else {
            throw Problem("the clocks are \(TimerClock.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return clock
    }
}

/// A row whose lateness is stretched, as `timerfd#2=1.1`.
struct Planting {
    let row: String
    let factor: Double

    static func parse(_ text: String) throws -> Planting {
        let parts = text.split(separator: "=")
        guard parts.count == 2, let factor = Double(parts[1]), (0.001...1000).contains(factor) else {
            throw Problem("write a row and a factor, as in timerfd#2=1.1")
        }
        return Planting(row: String(parts[0]), factor: factor)
    }
}
