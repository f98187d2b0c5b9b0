import Logging
import PreciseTimer
import PreciseTimerLifecycle
import ServiceLifecycle
import UnixSignals

@main enum Heartbeat {
    static func main() async throws {
        let logger = Logger(label: "heartbeat")
        let bag = TimerBag()
        let timer = try PreciseTimer.schedule(.every(.seconds(1))) { _, tick in logger.info("beat \(tick)") }
        timer.store(in: bag)
        let group = ServiceGroup(services: [TimerShutdown(of: bag)], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
    }
}
