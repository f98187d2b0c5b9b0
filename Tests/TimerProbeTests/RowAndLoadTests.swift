import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct RowAndLoadTests {
    @Test(arguments: [
        ("idle", Load.idle), ("memory", .memory), ("cpu", .cpu(1)), ("cpu:2", .cpu(2)), ("cpu:256", .cpu(256)),
        ("handler:200us", .handler(.microseconds(200))), ("handler:1.5ms", .handler(.microseconds(1500))),
        ("handler:10s", .handler(.seconds(10))), ("churn:10000", .churn(10_000)),
        ("pending:100000", .pending(100_000)),
    ])
    func aLoadIsReadAndNamed(text: String, load: Load) throws {
        #expect(try Load.parse(text) == load)
        #expect(try Load.parse(load.name) == load)
    }

    @Test(arguments: [
        "", "idle:", "idle:1", "memory:1", "cpu:", "cpu:0", "cpu:-1", "cpu:1025", "cpu:1.5", "cpu:two", "CPU",
        "cpu:1:2",
        "handler", "handler:", "handler:0s", "handler:200", "handler:11s", "handler:-1us", "handler:99999999999999s",
        "churn", "churn:0", "churn:10000001", "pending", "pending:0", "pending:10000001", "pending:1e3", " idle",
        "disk",
        "cpu:99999999999999999999",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Problem.self) { try Load.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    @Test func theSecondOfTwoEqualRowsIsNumbered() {
        let rows = Row.of([.timerFD, .dispatch, .timerFD, .timerFD])
        #expect(rows.map(\.name) == ["timerfd", "dispatch", "timerfd#2", "timerfd#3"])
        #expect(Set(rows).count == 4)
        #expect(rows.allSatisfy { $0.kind == .backend })
    }

    @Test func namesShowPeersAndReferences() {
        #expect(Row(.peer(.libevent)).kind == .peer)
        #expect(Row(.reference(.timerFD)).kind == .reference)
        #expect(Row(.reference(.timerFD)).name == RowKey.floor)
        #expect(Row(.peer(.taskSleep), number: 2).name == "peer-task-sleep#2")
        #expect(Peer.allCases.allSatisfy { $0.rawValue.hasPrefix("peer-") })
        #expect(Reference.allCases.allSatisfy { $0.rawValue.hasPrefix("floor-") })
    }

    @Test func aRowUnderALoadIsNamedByBoth() {
        #expect("\(PlannedRow(row: Row(.backend(.timerFD)), load: .idle).key)" == "timerfd")
        #expect("\(PlannedRow(row: Row(.backend(.timerFD), number: 2), load: .cpu(2)).key)" == "timerfd#2@cpu:2")
    }

    @Test(arguments: Peer.allCases) func everyPeerIsComparedWithABackend(_ peer: Peer) throws {
        let key = RowKey(row: peer.rawValue, kind: .peer, load: RowKey.idle)
        #expect(TimerService.Backend(rawValue: try #require(key.rival)) != nil)
    }
}
