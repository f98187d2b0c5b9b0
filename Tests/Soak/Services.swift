import PreciseTimer
import TestSupport
import TimerKernel

/// The services that the timers use: the shared ones, and own ones that come and go.
final class Services: Sendable {
    private let shared = TimerService.Backend.available.map(\.shared)
    private let own: Lock<[TimerService]>
    private let tally: Tally

    init(_ tally: Tally) throws(TimerError) {
        self.tally = tally
        var own: [TimerService] = []
        for (backend, clock) in Self.choices { own.append(try TimerService(backend, clock: clock)) }
        self.own = Lock(own)
    }

    /// Each backend, on each of its clocks.
    private static var choices: [(TimerService.Backend, TimerClock)] {
        TimerService.Backend.available.flatMap { backend in backend.clocks.map { (backend, $0) } }
    }

    func random(_ random: inout some RandomNumberGenerator) -> TimerService {
        let own = own.withLock { $0 }
        let index = Int.random(in: 0..<own.count + shared.count, using: &random)
        return index < own.count ? own[index] : shared[index - own.count]
    }

    /// A service that only the caller knows. What uses it keeps it.
    func another(_ random: inout some RandomNumberGenerator) throws(TimerError) -> TimerService {
        let (backend, clock) = Self.choices[Int.random(in: 0..<Self.choices.count, using: &random)]
        tally.servicesMade.add(1)
        return try TimerService(backend, clock: clock)
    }

    /// Shuts a service down while timers use it. A new service replaces an own one.
    func renew(_ random: inout some RandomNumberGenerator) {
        let index = Int.random(in: 0..<Self.choices.count, using: &random)
        let (backend, clock) = Self.choices[index]
        do throws(TimerError) {
            let new = try TimerService(backend, clock: clock)
            tally.servicesMade.add(1)
            let former = own.withLock { own in
                defer { own[index] = new }
                return own[index]
            }
            former.shutdown()
        } catch { tally.violate("a service can be made", "\(error)") }
        // Rarely, because a shared service has a large part of all timers.
        if Int.random(in: 0..<20, using: &random) == 0 { shared.randomElement(using: &random)?.shutdownForEveryone() }
    }

    func shutDownAll() { for service in own.withLock({ $0 }) + shared { service.shutdownForEveryone() } }
}

/// An object for a handler to capture.
final class Capture: Sendable {
    let subject: Subject
    private let life: Life

    init(_ subject: Subject, _ tally: Tally) { (self.subject, life) = (subject, Life(tally.captures)) }
}

/// An actor as a target.
actor ActorTarget {
    var ticks = 0
    private let life: Life

    init(_ tally: Tally) { life = Life(tally.targets) }
}
