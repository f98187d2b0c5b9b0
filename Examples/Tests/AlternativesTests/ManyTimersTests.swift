import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import PreciseTimer
import Testing

/// The row "ten thousand timers on one thread": the threads and descriptors that ten thousand timers take.
extension Alternatives {
    struct ManyTimersTests {
        private let timers = 10_000
        private let calls = Shared(0)
        private let threads = Shared<Set<pthread_t>>([])

        private func handler() {
            threads.change { _ = $0.insert(pthread_self()) }
            calls.change { $0 += 1 }
        }

        @Test func tenThousandDispatchTimersOnAQueueTakeFewThreadsAndDescriptors() throws {
            let queue = DispatchQueue(label: "timers")
            let before = (threads: try count(of: "task"), descriptors: try count(of: "fd"))
            let sources = (0..<timers)
                .map { number in
                    let source = DispatchSource.makeTimerSource(queue: queue)
                    source.schedule(deadline: .now() + .milliseconds(100 + number / 100))
                    source.setEventHandler { handler() }
                    source.activate()
                    return source
                }
            wait { calls.now == timers }
            let after = (threads: try count(of: "task"), descriptors: try count(of: "fd"))
            #expect(after.threads - before.threads < 20 && after.descriptors - before.descriptors < 20)
            for source in sources { source.cancel() }
        }

        @Test func tenThousandRunLoopTimersTakeOneThread() throws {
            let all = (0..<timers)
                .map { number in
                    Timer(fire: Date(timeIntervalSinceNow: 0.1 + Double(number) / 1e5), interval: 0, repeats: false) {
                        _ in
                        handler()
                    }
                }
            for timer in all { RunLoop.current.add(timer, forMode: .default) }
            runLoop { calls.now == timers }
            #expect(threads.now.count == 1)
        }

        @Test func tenThousandAsyncTimerSequencesTakeATaskEachAndFewThreads() async throws {
            let before = (threads: try count(of: "task"), descriptors: try count(of: "fd"))
            await withTaskGroup { group in
                for _ in 0..<timers {
                    group.addTask {
                        for await _ in AsyncTimerSequence(interval: .milliseconds(10), clock: .suspending) { break }
                        handler()
                    }
                }
            }
            let after = (threads: try count(of: "task"), descriptors: try count(of: "fd"))
            #expect(calls.now == timers)
            #expect(after.threads - before.threads < 20 && after.descriptors - before.descriptors < 20)
        }

        @Test func tenThousandTasksOfNIOTakeOneThread() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            for number in 0..<timers {
                _ = group.next().scheduleTask(in: .milliseconds(Int64(number / 100))) { handler() }
            }
            wait { calls.now == timers }
            try await group.shutdownGracefully()
            #expect(threads.now.count == 1)
        }

        @Test func tenThousandTimersOfThisLibraryTakeOneThread() throws {
            let service = try TimerService(.timerFD)
            let before = try count(of: "fd")
            let all = try (0..<timers)
                .map { number in
                    try PreciseTimer.schedule(.once(after: .microseconds(number * 10)), on: service) { _, _ in handler()
                    }
                }
            wait { calls.now == timers }
            let after = try count(of: "fd")
            #expect(threads.now.count == 1 && after - before < 20 && all.count == timers)
            service.shutdown()
        }
    }
}
