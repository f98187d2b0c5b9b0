#if DEBUG
import TestSupport
import Testing
@testable @_spi(Engine) import TimerCore

/// The list of all timers: what it retains, in which order it closes, and that going through it misses no timer.
struct TimerListTests {
    private struct Weak {
        weak var timer: TimerEntry?
    }

    @Test func theListRetainsItsTimersUntilTheyAreRemoved() {
        var list = TimerList()
        let weak = (0..<3).map { _ in append(to: &list) }
        #expect(weak.allSatisfy { $0.timer != nil })
        if let timer = weak[1].timer { list.remove(timer) }
        #expect(weak.map { $0.timer != nil } == [true, false, true])
        #expect(list.count == 2)
    }

    @Test func aListReleasesItsTimersWhenItGoes() {
        var weak: [Weak] = []
        do {
            var list = TimerList()
            weak = (0..<3_000).map { _ in append(to: &list) }
            #expect(list.count == 3_000)
        }
        #expect(weak.allSatisfy { $0.timer == nil })
    }

    @Test func theTimersThatAreClosedAreTheFirstUntilTheyAreRemoved() {
        var list = TimerList()
        let old = (0..<4).map { _ in TimerEntry() }
        for timer in old { list.append(timer) }
        list.close()
        let newer = (0..<3).map { _ in TimerEntry() }
        for timer in newer { list.append(timer) }
        #expect(list.closing == 4)
        list.remove(old[1])
        list.remove(newer[0])
        #expect(list.closing == 3)
        let closing = (0..<3).map { list[$0] }
        #expect([old[0], old[2], old[3]].allSatisfy { closing.contains($0) && list.isClosing($0) })
        #expect(newer[1...].allSatisfy { !list.isClosing($0) })
        while list.closing > 0 { list.remove(list[list.closing - 1]) }
        #expect(list.count == 2)
    }

    @Test(arguments: 0..<4)
    func whoGoesFromTheEndToTheBeginningMissesNoTimerWhateverHappensBetween(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var list = TimerList()
        for _ in 0..<300 { list.append(TimerEntry()) }
        var missed = (0..<300).map { list[$0] }
        var (position, unclear) = (list.count, 0)
        while position > 0, list.count > 0 {
            position = min(position, list.count) - 1
            missed.removeAll { $0 == list[position] }
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                switch Int.random(in: 0..<10, using: &random) {
                case 0: list.close()
                case 1..<5: list.append(TimerEntry())
                default:
                    let leaving = list[Int.random(in: 0..<list.count, using: &random)]
                    list.remove(leaving)
                    missed.removeAll { $0 == leaving }
                    #expect(leaving.place == -1)
                }
                if list.count == 0 { list.append(TimerEntry()) }
            }
            unclear += (0..<list.count).count { list[$0].place != $0 || list.isClosing(list[$0]) != ($0 < list.closing) }
        }
        #expect(missed.isEmpty)
        #expect(unclear == 0)
    }

    private func append(to list: inout TimerList) -> Weak {
        let timer = TimerEntry()
        list.append(timer)
        return Weak(timer: timer)
    }
}
#endif
