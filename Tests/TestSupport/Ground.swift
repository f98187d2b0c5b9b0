internal import Dispatch
package import PreciseTimer
package import PreciseTimerTestKit
internal import TimerAlarms
internal import TimerKernel

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

/// A way to make alarms on one clock. Every test for all alarms runs on each.
package struct Mechanism: Sendable, CustomStringConvertible {
    package let description: String
    package let clock: TimerClock
    private let make: @Sendable (TimerClock) throws(TimerError) -> any TimerAlarm

    package init(
        _ name: String,
        on clock: TimerClock,
        make: @escaping @Sendable (TimerClock) throws(TimerError) -> any TimerAlarm
    ) {
        description = "\(name), \(clock.rawValue)"
        self.clock = clock
        self.make = make
    }

    /// A new alarm, not started.
    package func makeAlarm() throws(TimerError) -> any TimerAlarm { try make(clock) }

    /// All mechanisms of this build.
    package static let all = TimerService.Backend.available.flatMap(of) + ofRealTime + attached

    /// The mechanisms on a host's loop or queue. Each alarm has its own, which ends when the alarm has released it.
    package static let attached: [Mechanism] = {
        // Queues of an ordinary class share their threads with the tests.
        var attached = [
            Mechanism("on a serial queue", on: .suspending) { clock throws(TimerError) in
                try DispatchAlarm(clock, queue: DispatchQueue(label: "test", qos: .userInteractive))
            },
            Mechanism("on a concurrent queue", on: .wall) { clock throws(TimerError) in
                let queue = DispatchQueue(label: "test", qos: .userInteractive, attributes: .concurrent)
                return try DispatchAlarm(clock, queue: queue)
            },
        ]
        #if RunLoop
        attached.append(Mechanism("attached to a run loop", on: .suspending) { _ in HostedAlarm.onRunLoop() })
        #endif
        for clock in TimerClock.allCases {
            attached.append(Mechanism("polled", on: clock, make: HostedAlarm.polled))
            #if Libevent
            attached.append(Mechanism("attached to an event base", on: clock, make: HostedAlarm.onEventBase))
            #endif
        }
        return attached
    }()

    /// The mechanisms as they are on a kernel with PREEMPT_RT: their threads sleep by a time-out of their own.
    private static let ofRealTime: [Mechanism] = [false, true]
        .flatMap { spins in
            TimerClock.allCases
                .map { clock in
                    Mechanism("real-time \(spins ? "hybrid" : "timerfd")", on: clock) { clock throws(TimerError) in
                        let spinner = spins ? Spinner(SpinPlan(maximum: 100_000, budget: 0.1)) : nil
                        let setup = ThreadSetup([.fifo(1)])
                        return try TimerFDAlarm(clock, setup: setup, spinner: spinner, sleepsByTimeOut: true)
                    }
                }
        }

    private static func of(_ backend: TimerService.Backend) -> [Mechanism] {
        TimerClock.allCases.filter(backend.clocks.contains)
            .map { clock in
                Mechanism(backend.rawValue, on: clock) { clock throws(TimerError) in
                    try backend.makeAlarm(clock: clock)
                }
            }
    }
}

extension TimerService.Backend {
    /// The backends of this build; every promise is tested on each.
    package static var available: [TimerService.Backend] { allCases.filter { $0.availability == .available } }

    /// For tests that need some backend: the default one.
    package static var usual: TimerService.Backend { .timerFD }

    /// The shared service of a backend.
    package var shared: TimerService {
        switch self {
        case .dispatch: .dispatch
        case .timerFD: .timerFD
        case .libevent: .libevent
        case .runLoop: .runLoop
        case .hybrid: .hybrid
        @unknown default: .default
        }
    }
}
