#if DEBUG
import TestSupport
import Testing
@testable import PreciseTimer

/// The queues of all tolerances together: which timer comes out, when, and in which round.
final class DeadlineQueuesTests {
    private var queues = DeadlineQueues()
    private var timers: [TimerRecord] = []

    @Test func timersThatComeOutTogetherComeInOrderOfDeadlineWhateverTheirTolerances() {
        let waiting = [(6, 40), (0, 50), (3, 30), (6, 10), (5, 20)].map { push(to: $0, at: $1) }
        #expect(round(at: 64) == [3, 4, 2, 0, 1].map { waiting[$0] })
    }

    @Test func equalDeadlinesComeOutInTheOrderOfSchedulingWhateverTheirTolerances() {
        let waiting = [6, 0, 3, 6, 0].map { push(to: $0, at: 10) }
        #expect(round(at: 64) == waiting)
    }

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

    @Test func aQueueWhoseFirstTimerIsNotDueIsSkippedInTheRoundAndFoundInTheNext() {
        let (tolerant, exact) = (push(to: 6, at: 10), push(to: 0, at: 20))
        #expect(round(at: 20) == [exact])
        #expect(round(at: 63) == [])
        #expect(round(at: 64) == [tolerant])
    }

    /// A timer that catches up comes back in the same round.
    @Test func aTimerThatIsQueuedDuringARoundIsFoundInIt() {
        let tolerant = push(to: 6, at: 70)
        #expect(round(at: 20) == [])
        let exact = push(to: 0, at: 15)
        #expect(queues.first(by: 20)?.timer == exact)
        queues.remove(exact)
        #expect(queues.first(by: 20) == nil)
        #expect(round(at: 128) == [tolerant])
    }

    @Test func deferredTimersAreLeftOutOfTheRoundAndOrderedByWakeTime() {
        let deferred = [30, 10, 20].map { push(to: DeadlineQueues.deferred, at: $0) }
        #expect(round(at: 64) == [])
        #expect(queues.count == 3)
        var gathered: [TimerRecord] = []
        while let first = queues.first(of: DeadlineQueues.deferred) {
            queues.remove(first.timer)
            gathered.append(first.timer)
        }
        #expect(gathered == [1, 2, 0].map { deferred[$0] })
    }

    /// Virtual time, which asks, then looks at the wake times of those timers only.
    @Test(arguments: [0, 1, 6, 63, 64])
    func aTimerIsContainedFromItsDeadlineOn(queue: Int) {
        let others = [(2, 30), (DeadlineQueues.deferred, 30), (6, 30)].map { push(to: $0, at: $1) }
        let timer = push(to: queue, at: 10)
        #expect(!queues.contains(by: 9) { _ in true })
        #expect(queues.contains(by: 10) { $0 == timer })
        #expect(!queues.contains(by: 29) { $0 != timer })
        for other in others { #expect(queues.contains(by: 30) { $0 == other }) }
    }

    @Test(arguments: 0..<10)
    func randomTimersComeOutAtTheirWakeTimesInOrderOfDeadline(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<300 {
            push(to: .random(in: 0...12, using: &random), at: .random(in: 0...20_000, using: &random))
        }
        var left = timers
        var now: UInt64 = 0
        while queues.next.wakeTime != .max, now < 100_000 {
            now += .random(in: 1...700, using: &random)
            let due = left.filter { queues.wakeTime(of: $0) <= now }
            #expect(queues.next.wakeTime == left.map { queues.wakeTime(of: $0) }.min())
            let inOrder = due.sorted { queues.element(of: $0).precedes(queues.element(of: $1)) }
            left.removeAll { due.contains($0) }
            #expect(round(at: now) == inOrder)
            #expect(queues.brokenInvariant == nil)
        }
        #expect(left.isEmpty && queues.count == 0)
    }

    /// Rules are an object more, and a longer way back into the queue.
    @Test(arguments: [0, 64, .max] as [UInt64])
    func aToleranceTakesNoRules(tolerance: UInt64) {
        var scheduler = Scheduler()
        let policies: [LatePolicy] = [.skip, .catchUp(limit: 2)]
        let timers = policies.map { scheduler.add(every(1_000, from: 1_000), policy: $0, tolerance: tolerance).timer }
        let hasNoRules = timers.map { $0.timing.isAhead(of: 999) }
        #expect(hasNoRules == [true, false])
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
