import ResultsSupport
import Testing
import TimerResults

@Suite struct LateTicksTests {
    private func late(_ causes: LateTicks.Cause...) -> LateTicks {
        causes.reduce(into: LateTicks(threshold: 1_000_000)) { $0.add($1) }
    }

    @Test func theMostFrequentCauseIsNamedFirst() {
        #expect(
            late(.stalled, .waited, .waited).words
                == "3 ticks later than 1 ms: 2 waited for a processor, 1 held up by the host or by another thread"
        )
        #expect(late(.idle).words == "1 tick later than 1 ms: 1 waited for an idle processor to wake up")
        #expect(late().words == "no tick later than 1 ms")
    }

    @Test func theCausesOfTwoTurnsAddUp() {
        var cell = Synthetic.cell(Synthetic.key("timerfd"), [5], late: late(.waited))
        cell.add(Synthetic.cell(Synthetic.key("timerfd"), [5]))
        cell.add(Synthetic.cell(Synthetic.key("timerfd"), [5], late: late(.waited, .unseen)))
        #expect(cell.late == late(.waited, .waited, .unseen))
        #expect(cell.late?[.waited] == 2)
        #expect(cell.late?.count == 3)
    }

    @Test func causesWithoutACountAreNone() {
        #expect(Synthetic.cell(Synthetic.key("timerfd"), [5]).late == nil)
        #expect(late(.waited)[.worked] == 0)
    }
}
