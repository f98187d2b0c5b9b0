#if DEBUG
import TestSupport
import Testing
@testable @_spi(Engine) import TimerCore

/// Which timers the list retains, which are closing, and that iteration misses no timer.
struct TimerListTests {
    @Test func aTimerIsRetainedUntilItIsRemovedOrTheListEnds() {
        var weak: [() -> TimerEntry?] = []
        do {
            var list = TimerList()
            for _ in 0..<3_000 {
                list.append(TimerEntry())
                weak.append { [weak timer = list[list.count - 1]] in timer }
            }
            #expect(weak.allSatisfy { $0() != nil })
            if let timer = weak[1]() { list.remove(timer) }
            #expect(weak[1]() == nil)
            #expect(list.count == 2_999)
        }
        #expect(weak.allSatisfy { $0() == nil })
    }

    @Test func theClosedTimersAreTheFirstUntilTheyAreRemoved() {
        var list = TimerList()
        let timers = (0..<7).map { _ in TimerEntry() }
        for timer in timers[..<4] { list.append(timer) }
        list.close()
        for timer in timers[4...] { list.append(timer) }
        #expect(timers.map { list.isClosing($0) } == [true, true, true, true, false, false, false])
        list.remove(timers[1])
        list.remove(timers[4])
        #expect(list.closing == 3)
        #expect([0, 2, 3].allSatisfy { list.isClosing(timers[$0]) } && timers[5...].allSatisfy { !list.isClosing($0) })
        while list.closing > 0 { list.remove(list[list.closing - 1]) }
        #expect(list.count == 2)
    }

    @Test(arguments: 0..<4)
    func backwardIterationMissesNoTimerWhileTheListChanges(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var list = TimerList()
        for _ in 0..<300 { list.append(TimerEntry()) }
        var missed = (0..<300).map { list[$0] }
        var (position, misplaced) = (list.count, 0)
        while position > 0, list.count > 0 {
            position = min(position, list.count) - 1
            missed.removeAll { $0 == list[position] }
            for _ in 0..<Int.random(in: 0..<3, using: &random) where list.count > 0 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0: list.close()
                case 1..<5: list.append(TimerEntry())
                default:
                    let leaving = list[Int.random(in: 0..<list.count, using: &random)]
                    list.remove(leaving)
                    missed.removeAll { $0 == leaving }
                }
            }
            misplaced += (0..<list.count).count { list[$0].place != $0 }
        }
        #expect(missed.isEmpty)
        #expect(misplaced == 0)
    }
}
#endif
