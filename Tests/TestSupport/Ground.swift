package import PreciseTimer
package import PreciseTimerTestKit

/// The ground for a test of a promise: a backend of this build, or virtual time.
package enum Ground: Sendable, CustomStringConvertible {
    case real(TimerService.Backend)
    case virtual

    /// All grounds; every promise must hold on each.
    package static var all: [Ground] { TimerService.Backend.available.map(Ground.real) + [.virtual] }

    package var description: String {
        switch self {
        case .real(let backend): backend.rawValue
        case .virtual: "virtual"
        }
    }

    /// A service on this ground, with a way to let its time pass.
    package func site() throws -> Site {
        switch self {
        case .real(let backend): Site(service: try TimerService(backend), virtual: nil)
        case .virtual: Site(VirtualTime())
        }
    }
}

/// A service, and a way to let its time pass.
package struct Site: Sendable {
    package let service: TimerService
    /// The time that a test must move; nil if it moves by itself.
    package let virtual: VirtualTime?

    package init(service: TimerService, virtual: VirtualTime? = nil) {
        self.service = service
        self.virtual = virtual
    }

    /// A service on virtual time.
    package init(_ virtual: VirtualTime) { self.init(service: virtual.service, virtual: virtual) }

    /// Lets time pass.
    package func pass(_ duration: Duration) {
        if let virtual { virtual.advance(by: duration) } else { pause(duration) }
    }

    /// Waits until a condition holds. Returns false if it does not within half a minute of the service's time.
    package func until(_ condition: () -> Bool) -> Bool {
        guard let virtual else { return eventually(condition) }
        for _ in 0..<30_000 {
            if condition() { return true }
            virtual.advance(by: .milliseconds(1))
        }
        return condition()
    }

    /// Lets time pass until a condition holds: exactly this long on virtual time, up to half a minute on a real clock.
    /// Returns whether the condition holds.
    package func pass(_ duration: Duration, until condition: () -> Bool) -> Bool {
        guard let virtual else { return eventually(condition) }
        virtual.advance(by: duration)
        return condition()
    }

    /// Lets time pass while the service cannot look at its clock.
    package func stall(_ duration: Duration) throws {
        if let virtual { return virtual.jump(by: duration) }
        let over = Box<Bool>()
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: over) { over, _ in
            pause(duration)
            over.value = true
        }
        while over.value != true { pause(.milliseconds(1)) }
    }
}
