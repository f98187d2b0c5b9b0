import ExampleSupport
import PreciseTimer
import PreciseTimerPatterns
import Synchronization

/// A server with 10,000 time-outs at once: of silent connections, and of requests that never get an answer.
@main
enum Server {
    private static let timeout = Duration.seconds(1)

    static func main() async throws {
        let service = try TimerService(.timerFD)
        service.collectsStatistics = true
        try await closeSilentConnections(service)
        try await answerRequests(service)
        // A tick is counted when its handler has returned.
        await service.shutdownAndWait()
        if let statistics = service.statistics { print("time-outs:", statistics) }
        check(service.statistics?.ticks ?? 0 >= 200, "the statistics lack time-outs")
    }

    /// Of 10,000 connections, a hundred fall silent after the first byte.
    private static func closeSilentConnections(_ service: TimerService) async throws {
        let connections = try (0..<10_000).map { _ in try Connection(on: service) }
        let begin = service.now
        for connection in connections { try connection.receive() }
        let (silent, others) = (connections.prefix(100), connections.dropFirst(100))
        while silent.contains(where: \.isOpen) {
            for connection in others { try connection.receive() }
            try await Task.sleep(for: .milliseconds(100))
        }
        print("connections: \(connections.count), \(connections.count { !$0.isOpen }) of them closed")
        check(begin.duration(to: service.now) >= Connection.patience, "silent connections were closed early")
    }

    /// Of 10,000 requests, a hundred never get an answer.
    private static func answerRequests(_ service: TimerService) async throws {
        let answers = await withTaskGroup { group in
            for request in 0..<10_000 { group.addTask { await serve(request, service) } }
            var counts: [Int: Int] = [:]
            for await status in group { counts[status, default: 0] += 1 }
            return counts
        }
        print("requests: \(answers[200, default: 0]) answered, \(answers[504, default: 0]) timed out")
        check(answers == [200: 9_900, 504: 100], "the answers are \(answers)")
        check(!service.activeTimers.contains { $0.label == "a time-out" }, "a request left its time-out behind")
    }

    /// Returns the status of the answer.
    private static func serve(_ request: Int, _ service: TimerService) async -> Int {
        let begin = service.now
        do {
            return try await withTimeout(timeout, on: service) { try await answer(request) }
        } catch is TimeoutError {
            check(begin.duration(to: service.now) >= timeout, "a request timed out early")
            return 504
        } catch {
            fail("\(error)")
        }
    }

    private static func answer(_ request: Int) async throws -> Int {
        if request.isMultiple(of: 100) { try await Task.sleep(for: .seconds(3_600)) }
        return 200
    }
}

/// A connection that is closed if its peer is silent for too long.
final class Connection: Sendable {
    static let patience = Duration.milliseconds(300)

    private struct State {
        var isOpen = true
        var timeout: PreciseTimer?
    }

    private let state = Mutex(State())

    var isOpen: Bool { state.withLock { $0.isOpen } }

    init(on service: TimerService) throws {
        // It does no harm if a connection is closed late, so the time-outs may share wake-ups.
        let timeout = try PreciseTimer.schedule(
            .onDemand,
            on: service,
            tolerance: .milliseconds(50),
            label: "idle connection",
            target: self
        ) { connection, tick in
            check(tick.lateness >= .zero, "a connection was closed early")
            connection.state.withLock { $0.isOpen = false }
        }
        state.withLock { $0.timeout = timeout }
    }

    /// A byte has arrived. Postponing the time-out makes no system call.
    func receive() throws { try state.withLock(\.timeout)?.reschedule(.once(after: Self.patience)) }
}
