internal import Dispatch
package import PreciseTimer
internal import TimerAlarms
internal import TimerKernel

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
    package static let all = TimerService.Backend.available.flatMap(of) + attached

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
        for clock in TimerClock.allCases where Platform.hasDescriptor && TimerDescriptor.clocks.contains(clock) {
            attached.append(Mechanism("polled", on: clock, make: HostedAlarm.polled))
            #if Libevent
            attached.append(Mechanism("attached to an event base", on: clock, make: HostedAlarm.onEventBase))
            #endif
        }
        return attached
    }()

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

    /// For tests that need some backend, on any system: the default one.
    package static var usual: TimerService.Backend { available.contains(.timerFD) ? .timerFD : .dispatch }

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
