import Dispatch
import PreciseTimer
import Synchronization

/// Runs a timer on every backend of the build, for a machine on which the tests cannot run.
@main enum EveryBackend {
    private final class Target: Sendable { let ticks = Atomic(0) }

    static func main() throws {
        var missing: [String] = []
        for backend in TimerService.Backend.allCases where backend.availability == .available {
            let (service, target) = (try TimerService(backend), Target())
            let start = service.now
            let timer = try PreciseTimer.schedule(.every(.milliseconds(10)), on: service, target: target) { target, _ in
                target.ticks.add(1, ordering: .relaxed)
            }
            while start.duration(to: service.now) < .seconds(1) {
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(20))
            }
            timer.cancel()
            let (count, time) = (target.ticks.load(ordering: .relaxed), start.duration(to: service.now))
            service.shutdown()
            print("\(backend.rawValue): \(count) ticks in \(time)")
            if count == 0 { missing.append(backend.rawValue) }
        }
        if !missing.isEmpty { fatalError("no tick on \(missing.joined(separator: ", "))") }
    }
}
