import Logging
import PreciseTimer
import PreciseTimerLifecycle
import ServiceLifecycle
import UnixSignals

@main
enum Heartbeat {
    static func main() async throws {
        let logger = Logger(label: "heartbeat")
        let beat = PeriodicService(.every(.seconds(1)), firstRun: .atStart, label: "beat", logger: logger) { tick in
            logger.info("beat: \(tick)")
        }
        let group = ServiceGroup(services: [beat], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
}
