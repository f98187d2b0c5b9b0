import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import Testing

/// The row "equal deadlines in order of scheduling": timers that are set for one instant, one after the other.
extension Alternatives {
    struct OrderTests {
        /// Runs more and more timers of one deadline until they do not run in the order in which they were set.
        ///
        /// If they keep their order this ends with the suite's limit.
        private func seeDisorder(of run: (_ count: Int) async -> [Int]) async {
            var (count, order) = (12, [Int]())
            repeat {
                order = await run(count)
                #expect(order.count == count)
                count *= 2
            } while order == order.sorted()
        }

        @Test func dispatchTimersOfOneDeadlineDoNotRunInOrder() async {
            await seeDisorder { dispatchOrder($0, nanosecondsApart: 0) }
        }

        @Test func dispatchTimersAMicrosecondApartRunInOrder() {
            #expect(dispatchOrder(12, nanosecondsApart: 1_000) == Array(0..<12))
        }

        /// The order of sources on a serial queue.
        private func dispatchOrder(_ count: Int, nanosecondsApart gap: UInt64) -> [Int] {
            let (queue, order, deadline) = (DispatchQueue(label: "order"), Shared<[Int]>([]), uptime() + 50_000_000)
            let sources = (0..<count)
                .map { number in
                    let source = DispatchSource.makeTimerSource(queue: queue)
                    source.schedule(deadline: DispatchTime(uptimeNanoseconds: deadline + UInt64(number) * gap))
                    source.setEventHandler { order.change { $0.append(number) } }
                    source.activate()
                    return source
                }
            wait { order.now.count == count }
            for source in sources { source.cancel() }
            return order.now
        }

        @Test func runLoopTimersOfOneDateDoNotRunInOrder() async {
            await seeDisorder(of: runLoopOrder)
        }

        private func runLoopOrder(_ count: Int) -> [Int] {
            let (date, order) = (Date(timeIntervalSinceNow: 0.05), Shared<[Int]>([]))
            for number in 0..<count {
                let timer = Timer(fire: date, interval: 0, repeats: false) { _ in order.change { $0.append(number) } }
                RunLoop.current.add(timer, forMode: .default)
            }
            runLoop { order.now.count == count }
            return order.now
        }

        @Test func asyncTimerSequencesOfOneDeadlineDoNotTickInOrder() async {
            await seeDisorder { count in
                let (clock, consumer) = (StandingClock(now: .now), Consumer())
                for number in 0..<count {
                    await consumer.consume(AsyncTimerSequence(interval: .milliseconds(50), clock: clock), number)
                }
                return await consumer.order()
            }
        }

        @Test func tasksOfNIOOfOneDeadlineRunInOrder() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let (loop, order) = (group.next(), Shared<[Int]>([]))
            // On the loop's thread, so that all are scheduled before the first can run.
            try await loop.submit {
                let deadline = NIODeadline.now() + .milliseconds(5)
                for number in 0..<1_000 {
                    _ = loop.scheduleTask(deadline: deadline) { order.change { $0.append(number) } }
                }
            }
            .get()
            wait { order.now.count == 1_000 }
            try await group.shutdownGracefully()
            #expect(order.now == Array(0..<1_000))
        }
    }
}

/// One actor for the tasks of several sequences, so that the order is not that of several threads.
private actor Consumer {
    private var numbers: [Int] = []
    private var tasks: [Task<Void, Never>] = []

    /// Takes the first element of a sequence in a task.
    func consume(_ sequence: AsyncTimerSequence<StandingClock>, _ number: Int) {
        let task = Task {
            for await _ in sequence.prefix(1) { numbers.append(number) }
        }
        tasks.append(task)
    }

    /// The order in which the elements came.
    func order() async -> [Int] {
        for task in tasks { await task.value }
        return numbers
    }
}

/// Swift's suspending clock, whose time stands still: sequences that start one after the other have one deadline.
private struct StandingClock: Clock {
    let now: SuspendingClock.Instant
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: SuspendingClock.Instant, tolerance: Duration?) async throws {
        try await Task.sleep(until: deadline, tolerance: tolerance, clock: .suspending)
    }
}
