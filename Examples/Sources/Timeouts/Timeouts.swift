import ExampleSupport
import PreciseTimer
import PreciseTimerPatterns
import Synchronization

/// What is set again and again: a watchdog, a debounce, and the idle time-outs of connections.
@main
enum Timeouts {
    static func main() async throws {
        try await watchALoop()
        try await saveAfterChanges()
        try await closeIdleConnections()
    }

    /// The watchdog barks if the loop is stuck, and goes on watching.
    private static func watchALoop() async throws {
        let (barks, patience) = (Barks(), Duration.milliseconds(50))
        let watchdog = try PreciseTimer.schedule(.onDemand, target: barks) { barks, tick in barks.note(tick) }
        for _ in 1...3 {
            var fed = TimerService.default.now
            for _ in 0..<1_000 {
                fed = TimerService.default.now
                try watchdog.reschedule(.once(after: patience))
            }
            // The loop is stuck until the watchdog has barked.
            try await wait(for: "a bark") { barks.last.map { $0.deadline >= fed.advanced(by: patience) } ?? false }
        }
        // The loop is over, so the watchdog can rest.
        try watchdog.reschedule(.onDemand)
        print("watchdog: fed 3,000 times, barked \(barks.count) times")
        check(barks.count <= 3_000 && !barks.hasBarkedEarly, "the watchdog barked without a reason")
        check(watchdog.state == .scheduled && watchdog.nextDeadline == nil, "the watchdog does not rest")
    }

    /// Saves a document a moment after its last change, instead of after each change.
    private static func saveAfterChanges() async throws {
        let document = Document()
        let save = try Debouncer(.milliseconds(50), target: document) { document in document.save() }
        for _ in 0..<200 {
            document.change()
            save()
            try await Task.sleep(for: .milliseconds(1))
        }
        try await wait(for: "the last save") { document.isSaved }
        print("debounce: changed \(document.changes) times, saved \(document.saves) times")
        check(document.saves <= document.changes, "the document was saved more often than it was changed")
    }

    /// A server closes connections that say nothing for 100 ms. One of ten goes on talking, and has more time.
    private static func closeIdleConnections() async throws {
        let (server, count) = (Server(), 1_000)
        let start = TimerService.default.now
        let timeouts = IdleTimeouts<Int>(target: server) { server, id in server.close(id) }
        let isBusy: @Sendable (Int) -> Bool = { $0.isMultiple(of: 10) }
        for id in 0..<count { timeouts.refresh(id, after: isBusy(id) ? .seconds(60) : .milliseconds(100)) }
        try await wait(for: "the idle connections") {
            for id in 0..<count where isBusy(id) { timeouts.refresh(id, after: .seconds(60)) }
            return timeouts.count == count / 10
        }
        let idle = start.duration(to: TimerService.default.now)
        print("time-outs: closed \(server.closed.count) of \(count) connections, \(timeouts.count) are busy")
        check(idle >= .milliseconds(100), "a connection was closed early")
        check(server.closed.count == count - count / 10, "a connection was closed twice, or not at all")
        check(!server.closed.contains(where: isBusy), "a busy connection was closed")
        timeouts.cancelAll()
        check(timeouts.count == 0, "a time-out remains")
    }
}

/// The server, which only notes the connections that it closes.
final class Server: Sendable {
    private let noted = Mutex<[Int]>([])

    var closed: [Int] { noted.withLock { $0 } }

    func close(_ id: Int) { noted.withLock { $0.append(id) } }
}

/// A document that should be saved after changes, but not after each change.
final class Document: Sendable {
    private struct State {
        var changes = 0
        var saved = 0
        var saves = 0
    }

    private let state = Mutex(State())

    var changes: Int { state.withLock { $0.changes } }
    /// How many times it was saved.
    var saves: Int { state.withLock { $0.saves } }
    /// Whether the last change is saved.
    var isSaved: Bool { state.withLock { $0.saved == $0.changes } }

    func change() { state.withLock { $0.changes += 1 } }

    func save() {
        state.withLock { state in
            state.saved = state.changes
            state.saves += 1
        }
    }
}

/// Records the barks of a watchdog.
final class Barks: Sendable {
    private let heard = Mutex<[PreciseTimer.Tick]>([])

    var count: Int { heard.withLock { $0.count } }
    var last: PreciseTimer.Tick? { heard.withLock { $0.last } }
    var hasBarkedEarly: Bool { heard.withLock { $0.contains { $0.lateness < .zero } } }

    func note(_ tick: PreciseTimer.Tick) { heard.withLock { $0.append(tick) } }
}
