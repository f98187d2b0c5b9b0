import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import Testing

/// The rows "accumulated drift" and "missed deadlines counted": handlers that take longer than the period.
extension Alternatives {
    struct DriftTests {
        private static let millisecond: UInt64 = 1_000_000

        @Test func aDispatchTimerKeepsItsGridAndCountsMissedDeadlinesInData() {
            struct Call { var began, ended, data: UInt64 }
            let (calls, period) = (Shared<[Call]>([]), 10 * Self.millisecond)
            let first = uptime() + period
            let source = DispatchSource.makeTimerSource()
            source.schedule(
                deadline: DispatchTime(uptimeNanoseconds: first),
                repeating: .nanoseconds(Int(period))
            )
            source.setEventHandler {
                let began = uptime()
                let data = UInt64(source.data)
                usleep(25_000)
                calls.change { $0.append(Call(began: began, ended: uptime(), data: data)) }
            }
            source.activate()
            wait { calls.now.count >= 10 }
            source.cancel()
            var (counted, all) = (UInt64(0), calls.now)
            // Two calls are two deadlines at least, and the deadlines of the first call's time are the second's.
            for index in all.indices.dropFirst() {
                counted += all[index - 1].data
                let passed = deadlinesPassed(at: all[index - 1].ended, from: first, period: period)
                #expect(counted + all[index].data >= passed, "a deadline was not counted")
                #expect(
                    counted + all[index].data <= deadlinesPassed(at: all[index].began, from: first, period: period),
                    "a deadline was counted before its time"
                )
            }
            all.removeFirst()
            #expect(all.allSatisfy { $0.data >= 2 }, "a handler of 25 ms misses a deadline each 10 ms")
        }

        @Test func aRunLoopTimerKeepsItsGridAndSkipsMissedDeadlinesInSilence() {
            let (calls, period) = (Shared(0), 0.02)
            let first = Date(timeIntervalSinceNow: period)
            let timer = Timer(fire: first, interval: period, repeats: true) { _ in
                usleep(47_000)
                calls.change { $0 += 1 }
            }
            RunLoop.current.add(timer, forMode: .default)
            var steps: [Double] = []
            runLoop {
                if calls.now > steps.count { steps.append(timer.fireDate.timeIntervalSince(first) / period) }
                return calls.now >= 10
            }
            timer.invalidate()
            // A date is computed from two readings of two clocks: a thread that is stopped in between moves it.
            let onGrid = steps.filter { abs($0 - $0.rounded()) < 0.05 }
            #expect(onGrid.count * 4 >= steps.count * 3, "\(steps)")
            #expect(steps.last.map { Int($0.rounded()) >= 2 * calls.now } == true, "\(steps) for \(calls.now) calls")
        }

        @Test func anAsyncTimerSequenceKeepsItsGrid() async {
            let clock = StalledClock { _ in .milliseconds(3) }
            var ticks = AsyncTimerSequence(interval: .milliseconds(10), clock: clock).makeAsyncIterator()
            for _ in 0..<100 { _ = await ticks.next() }
            #expect(clock.deadlines == (1...100).map { StalledClock.Instant(offset: .milliseconds(10) * $0) })
        }

        @Test func anAsyncTimerSequenceDeliversMissedDeadlinesOneByOneWithoutACount() async {
            let clock = StalledClock { $0 == 1 ? .milliseconds(105) : .zero }
            var ticks = AsyncTimerSequence(interval: .milliseconds(10), clock: clock).makeAsyncIterator()
            var instants: [Duration?] = []
            for _ in 0..<12 { instants.append(await ticks.next()?.offset) }
            // An element is the time at which the sleep ended, so that eleven of them are equal.
            #expect(instants == Array(repeating: .milliseconds(115), count: 11) + [.milliseconds(120)])
        }

        @Test func aRepeatedTaskOfNIODriftsByTheTimeOfItsHandlerAndCountsNothing() async throws {
            let (starts, period) = (Shared<[UInt64]>([]), 10 * Self.millisecond)
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let scheduled = uptime()
            let task = group.next()
                .scheduleRepeatedTask(
                    initialDelay: .nanoseconds(Int64(period)),
                    delay: .nanoseconds(Int64(period))
                ) { _ in
                    starts.change { $0.append(uptime()) }
                    usleep(5_000)
                }
            wait { starts.now.count >= 20 }
            task.cancel()
            try await group.shutdownGracefully()
            // On a grid the last would be due after twenty periods; here each adds the 5 ms of the handler before it.
            for (index, start) in starts.now.enumerated() {
                let handlers = UInt64(index) * 5 * Self.millisecond
                #expect(start >= scheduled + UInt64(index + 1) * period + handlers)
            }
        }
    }
}

/// A clock whose sleeps return at once, as if their deadline had come, and late by a given time.
final class StalledClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = Shared<(now: Duration, deadlines: [Instant])>((.zero, []))
    private let lateness: @Sendable (_ number: Int) -> Duration

    /// - Parameter lateness: how late each sleep ends, by its number from 1.
    init(lateness: @escaping @Sendable (_ number: Int) -> Duration) { self.lateness = lateness }

    var now: Instant { Instant(offset: time.now.now) }
    var minimumResolution: Duration { .nanoseconds(1) }
    /// The deadlines of all sleeps.
    var deadlines: [Instant] { time.now.deadlines }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        time.change { time in
            time.deadlines.append(deadline)
            time.now = max(time.now, deadline.offset + lateness(time.deadlines.count))
        }
    }
}

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
