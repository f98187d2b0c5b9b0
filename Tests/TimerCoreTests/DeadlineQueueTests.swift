#if DEBUG
import Testing
@testable import PreciseTimer

// The queue of one tolerance, and the queues of all tolerances together.

/// Compares the queue with an obviously right model, a sorted list.
struct DeadlineQueueTests {
    private struct Waiting: Equatable {
        var nanoseconds: UInt64
        let timer: TimerRecord

        func precedes(_ other: Waiting) -> Bool {
            (nanoseconds, timer.sequence) < (other.nanoseconds, other.timer.sequence)
        }
    }

    /// The queue grows first, and then shrinks.
    @Test(arguments: 0..<10)
    func randomOperationsAgreeWithASortedList(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = DeadlineQueue()
        var model: [Waiting] = []
        for sequence in 0..<2_000 {
            let nanoseconds = UInt64.random(in: 0..<50, using: &random)
            let known = model.indices.randomElement(using: &random)
            switch Int.random(in: 0..<(sequence < 800 ? 6 : 9), using: &random) {
            case 0..<3:
                let timer = timer(sequence)
                queue.push(timer, at: nanoseconds)
                model.append(Waiting(nanoseconds: nanoseconds, timer: timer))
            case 3, 4:
                guard let known else { continue }
                queue.hasten(model[known].timer, to: nanoseconds)
                model[known].nanoseconds = min(nanoseconds, model[known].nanoseconds)
            case 5:
                guard let known else { continue }
                let timer = model.remove(at: known).timer
                queue.remove(timer)
                #expect(timer.position == -1)
            default:
                let earliest = model.min { $0.precedes($1) }
                #expect(queue.firstInstant == earliest?.nanoseconds ?? .max && pop(&queue) == earliest)
                model.removeAll { $0 == earliest }
            }
            #expect(queue.count == model.count && queue.brokenInvariant == nil)
        }
        let left = (0..<queue.count).compactMap { _ in pop(&queue) }
        #expect(left == model.sorted { $0.precedes($1) } && queue.first == nil && queue.firstInstant == .max)
    }

    private func timer(_ sequence: Int) -> TimerRecord {
        let timer = TimerRecord()
        timer.sequence = UInt64(sequence)
        return timer
    }

    private func pop(_ queue: inout DeadlineQueue) -> Waiting? {
        guard let first = queue.first else { return nil }
        queue.remove(first.timer)
        return Waiting(nanoseconds: first.nanoseconds, timer: first.timer)
    }
}

/// The queues of all tolerances together: which timer comes out, when, and in which round.
final class DeadlineQueuesTests {
    private var queues = DeadlineQueues()
    private var timers: [TimerRecord] = []

    @Test func theNextWakeTimeIsTheEarliestOfAllQueues() {
        #expect(queues.next.wakeTime == .max)
        for (queue, deadline, wakeTime) in [(6, 10, 64), (3, 50, 56), (0, 55, 55), (DeadlineQueues.deferred, 54, 54)] {
            #expect(queues.wakeTime(of: push(to: queue, at: UInt64(deadline))) == wakeTime)
            #expect(queues.next == (queue, UInt64(wakeTime)))
        }
        push(to: 6, at: 1)
        #expect(queues.next == (DeadlineQueues.deferred, 54), "of two wake times the earlier one counts")
        for timer in timers { queues.remove(timer) }
        #expect(queues.next.wakeTime == .max)
    }

    /// A timer that catches up comes back in the same round.
    @Test func aQueueWhoseFirstTimerIsNotDueIsSkippedInTheRoundUnlessATimerIsQueuedInIt() {
        let (tolerant, exact) = (push(to: 6, at: 10), push(to: 0, at: 20))
        #expect([20, 63].map { round(at: $0) } == [[exact], []])
        let other = push(to: 0, at: 15)
        #expect(queues.first(by: 63)?.timer == other)
        queues.remove(other)
        #expect(queues.first(by: 63) == nil && round(at: 64) == [tolerant])
    }

    @Test func deferredTimersAreLeftOutOfTheRoundAndOrderedByWakeTime() {
        let deferred = [30, 10, 20].map { push(to: DeadlineQueues.deferred, at: $0) }
        #expect(round(at: 64) == [] && queues.count == 3)
        for number in [1, 2, 0] {
            #expect(queues.first(of: DeadlineQueues.deferred)?.timer == deferred[number])
            queues.remove(deferred[number])
        }
    }

    /// Virtual time, which asks, then looks at the wake times of those timers only.
    @Test(arguments: [0, 1, 6, 63, 64])
    func aTimerIsContainedFromItsDeadlineOn(queue: Int) {
        let others = [(2, 30), (DeadlineQueues.deferred, 30), (6, 30)].map { push(to: $0, at: $1) }
        let timer = push(to: queue, at: 10)
        #expect([9, 10].map { queues.contains(by: $0) { $0 == timer } } == [false, true])
        #expect([29, 30].map { queues.contains(by: $0) { $0 != timer } } == [false, true])
        #expect(others.allSatisfy { other in queues.contains(by: 30) { $0 == other } })
    }

    @Test(arguments: 0..<10)
    func randomTimersComeOutAtTheirWakeTimesInOrderOfDeadline(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<300 {
            push(to: .random(in: 0...12, using: &random), at: .random(in: 0...4_000, using: &random))
        }
        var left = timers
        var now: UInt64 = 0
        while queues.next.wakeTime != .max, now < 20_000 {
            now += .random(in: 1...150, using: &random)
            let due = left.filter { queues.wakeTime(of: $0) <= now }
            #expect(queues.next.wakeTime == left.map { queues.wakeTime(of: $0) }.min())
            let inOrder = due.sorted { queues.element(of: $0).precedes(queues.element(of: $1)) }
            left.removeAll { due.contains($0) }
            #expect(round(at: now) == inOrder && queues.brokenInvariant == nil)
        }
        #expect(left.isEmpty && queues.count == 0)
    }

    /// Rules are an object more, and a longer way back into the queue.
    @Test(arguments: [0, 64, .max] as [UInt64])
    func aToleranceTakesNoRules(tolerance: UInt64) {
        var scheduler = Scheduler()
        let policies: [LatePolicy] = [.skip, .catchUp(limit: 2)]
        let timers = policies.map { scheduler.add(every(1_000, from: 1_000), policy: $0, tolerance: tolerance).timer }
        #expect(timers.map { $0.timing.isAhead(of: 999) } == [true, false])
    }

    /// Queues a timer, as the last among equal deadlines.
    @discardableResult private func push(to queue: Int, at deadline: UInt64) -> TimerRecord {
        let timer = TimerRecord()
        timer.sequence = UInt64(timers.count)
        timers.append(timer)
        queues.push(timer, to: queue, at: deadline)
        return timer
    }

    /// A round: the timers that come out by an instant, one after the other.
    private func round(at instant: UInt64) -> [TimerRecord] {
        queues.beginRound()
        var timers: [TimerRecord] = []
        while let first = queues.first(by: instant) {
            queues.remove(first.timer)
            timers.append(first.timer)
        }
        return timers
    }
}
#endif
