#if Instrument && DEBUG
import PreciseTimer
import Testing

@testable import BackendComparison

@Suite struct RowTests {
    /// Peers are measured on the suspending clock.
    @Test func deadlinesOfATooShortPeriodAreAccountedFor() throws {
        let rows = try Short.measure([NamedRow(.taskSleep(.until))]) { request in
            (request.period, request.deadlines, request.clock) = (.microseconds(1), 200, .wall)
        }
        #expect(rows[0].lateness.count >= 200)
    }

    @Test func theSecondOfTwoEqualRowsIsNumbered() throws {
        let rows = try NamedRow.parse("timerfd,dispatch,timerfd,timerfd,bare,task-sleep,bare")
        #expect(rows.map(\.name) == ["timerfd", "dispatch", "timerfd#2", "timerfd#3", "bare", "task-sleep", "bare#2"])
        #expect(Set(rows).count == 7)
        #expect(rows.map(\.kind) == [.backend, .backend, .backend, .backend, .bare, .peer, .bare])
    }

    @Test(arguments: ["", "timerfd,", "epoll", "timerfd#2", "timerfd, dispatch"])
    func otherRowsAreRefusedWithTheNamesOfAll(text: String) {
        let problem = #expect(throws: Failure.self) { try NamedRow.parse(text) }
        for row in NamedRow.all { #expect(problem?.description.contains(row.name) == true) }
    }

    @Test func theUsualRowsBeginWithTheBase() {
        let rows = NamedRow.usual(on: .suspending).map(\.name)
        #expect(rows.first == RowKey.base && rows.suffix(3) == ["task-sleep", "sleep-for", RowKey.bare])
        #expect(!NamedRow.usual(on: .wall).map(\.name).contains("runloop"))
        #expect(NamedRow(.backend(.runLoop)).obstacle(on: .wall)?.contains("wall clock") == true)
    }

    @Test func aRowUnderALoadIsNamedByBoth() {
        let rows = [
            PlannedRow(row: NamedRow(.backend(.timerFD)), load: .idle),
            PlannedRow(row: NamedRow(.backend(.timerFD), number: 2), load: .cpu(2)),
        ]
        #expect(rows.map(\.key.description) == ["timerfd", "timerfd#2@cpu:2"])
    }
}
#endif
