import Dispatch
import ExampleSupport
import Foundation
import PreciseTimer
import Synchronization

/// A service for each core: threads schedule and cancel time-outs without waiting for each other.
@main
enum ServicePerCore {
    private static let cores = Swift.max(2, ProcessInfo.processInfo.activeProcessorCount)

    static func main() async throws {
        let shards = try (0..<cores).map(Shard.init)
        comparePairs(shards)
        try await closeSilentConnections(shards)
        for shard in shards { await shard.service.shutdownAndWait() }
    }

    /// Shows what the services gain if each has one thread, and that they gain nothing if every thread uses them all.
    private static func comparePairs(_ shards: [Shard]) {
        let alone = pairs(by: 1) { _, _ in shards[0] }
        let rows = [
            ("1 thread on 1 service", alone),
            ("\(cores) threads on 1 service", pairs(by: cores) { _, _ in shards[0] }),
            ("\(cores) threads, each on its service", pairs(by: cores) { thread, _ in shards[thread] }),
            ("\(cores) threads, each on all services", pairs(by: cores) { _, id in shards.shard(of: id) }),
        ]
        for (name, rate) in rows {
            print(String(format: "%.1f million pairs a second, %.2f times: ", rate / 1e6, rate / alone) + name)
        }
    }

    /// Schedules and cancels time-outs on some threads at once. Returns the number of such pairs in a second.
    private static func pairs(by threads: Int, on choose: @Sendable (_ thread: Int, _ id: Int) -> Shard) -> Double {
        let count = Atomic(0)
        let begin = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            let connection = Connection(id: thread)
            while begin.duration(to: .now) < .milliseconds(250) {
                for id in 0..<1_000 { connection.expectByte(on: choose(thread, id).service).cancel() }
                count.add(1_000, ordering: .relaxed)
            }
        }
        return Double(count.load(ordering: .relaxed)) / (begin.duration(to: .now) / .seconds(1))
    }

    /// Of 10,000 connections, a hundred are silent. Each is served on the thread of its shard.
    private static func closeSilentConnections(_ shards: [Shard]) async throws {
        let connections = (0..<10_000).map(Connection.init)
        let begin = ContinuousClock.now
        for connection in connections {
            let shard = shards.shard(of: connection.id)
            shard.queue.async {
                if connection.id < 100 {
                    _ = connection.expectByte(on: shard.service, within: .milliseconds(300))
                } else {
                    connection.expectByte(on: shard.service).cancel()
                }
            }
        }
        for shard in shards { shard.queue.sync {} }
        try await wait(for: "the time-outs") { shards.allSatisfy(\.service.activeTimers.isEmpty) }
        check(begin.duration(to: .now) >= .milliseconds(300), "silent connections were closed early")
        check(connections.prefix(100).allSatisfy(\.isClosed), "a time-out was lost")
        check(!connections.dropFirst(100).contains(where: \.isClosed), "a time-out came after it was cancelled")
        let counts = shards.map { shard in connections.count { shards.shard(of: $0.id).queue === shard.queue } }
        check(!counts.contains(0), "a shard has no connection: \(counts)")
        print("connections: \(connections.count), in shards of \(counts); 100 of them closed")
    }
}

/// A part of a server: the thread that serves its connections, and the service that has their time-outs.
struct Shard: Sendable {
    /// Stands for an event loop.
    let queue: DispatchQueue
    let service: TimerService

    init(_ number: Int) throws(TimerError) {
        queue = DispatchQueue(label: "shard \(number)")
        service = try TimerService(.timerFD)
    }
}

extension [Shard] {
    /// The shard of a connection, which is the same one until the program ends.
    func shard(of id: some Hashable) -> Shard { self[abs(id.hashValue % count)] }
}

/// A connection that is closed if no byte arrives in time.
final class Connection: Sendable {
    let id: Int
    private let closed = Atomic(false)

    var isClosed: Bool { closed.load(ordering: .acquiring) }

    init(id: Int) { self.id = id }

    func expectByte(on service: TimerService, within patience: Duration = .seconds(30)) -> PreciseTimer {
        do {
            return try PreciseTimer.schedule(.once(after: patience), on: service, target: self) { connection, _ in
                connection.closed.store(true, ordering: .releasing)
            }
        } catch {
            fail("\(error)")
        }
    }
}
