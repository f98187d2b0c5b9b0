internal import ArgumentParser
internal import PreciseTimer
internal import TimerCore
internal import TimerMeasurement

extension HandlerPlace: ExpressibleByArgument {}

/// Why the value of an option makes no sense.
struct BadValue: Error, CustomStringConvertible {
    let description: String
}

/// The backends that are measured.
enum Backends {
    /// The value of --backends: names with commas between them.
    static func parse(_ text: String) throws -> [TimerService.Backend] {
        try text.split(separator: ",", omittingEmptySubsequences: false)
            .map { name in
                guard let backend = TimerService.Backend(rawValue: String(name)) else {
                    let known = TimerService.Backend.allCases.map(\.rawValue).joined(separator: ", ")
                    throw BadValue(description: "the backends are \(known)")
                }
                return backend
            }
    }

    /// What is measured: the backends that were asked for by name, all of them, or else what there is.
    static func measured(
        _ asked: [TimerService.Backend]?,
        on clock: TimerClock
    ) throws -> [TimerService.Backend] {
        guard let asked else { return TimerService.Backend.allCases.filter { obstacle(to: $0, on: clock) == nil } }
        for backend in asked {
            if let obstacle = obstacle(to: backend, on: clock) {
                throw UnavailableBackend(name: backend.rawValue, reason: obstacle)
            }
        }
        return asked
    }

    /// A line about each backend that nobody named and that cannot be measured.
    static func leftOut(_ asked: [TimerService.Backend]?, on clock: TimerClock) -> [String] {
        guard asked == nil else { return [] }
        return TimerService.Backend.allCases.compactMap { backend in
            obstacle(to: backend, on: clock).map { "\(backend.rawValue) is left out: \($0)" }
        }
    }

    /// Why a backend cannot be measured; nil where it can.
    private static func obstacle(to backend: TimerService.Backend, on clock: TimerClock) -> String? {
        if case .unavailable(let reason) = backend.availability { return reason }
        guard !backend.clocks.contains(clock) else { return nil }
        let able = TimerService.Backend.allCases.filter { $0.clocks.contains(clock) }.map(\.rawValue)
        return "it cannot wait on the \(clock.rawValue) clock; \(able.joined(separator: " and ")) can"
    }
}

/// A whole number; whether it may be so great is for the plan to say.
enum WholeNumber {
    static func parse<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw BadValue(description: "write a whole number, as in 3") }
        return number
    }
}

/// A share of a processor.
enum Percent {
    static func parse(_ text: String) throws -> Double {
        let digits = text.hasSuffix("%") ? text.dropLast() : text[...]
        guard let percent = Double(digits), percent.isFinite, percent > 0 else {
            throw BadValue(description: "write a number of percent, as in 5 or 2.5%")
        }
        return percent
    }
}

/// A clock by its name.
enum ClockName {
    static func parse(_ text: String) throws -> TimerClock {
        guard let clock = TimerClock(rawValue: text) else {
            throw BadValue(description: "the clocks are \(TimerClock.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return clock
    }
}
