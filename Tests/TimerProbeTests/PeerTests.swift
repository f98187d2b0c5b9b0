import HostSystem
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Real turns of timers without the library.
@Suite(.works("the peers have clocks of their own"))
struct PeerTests {
    @Test(arguments: Peer.available)
    func everyPeerAccountsForItsDeadlines(_ peer: Peer) throws {
        let cell = try Short.measure([Row(.peer(peer))])[0]
        #expect(cell.key == RowKey(row: peer.rawValue, kind: .peer, load: "idle"))
        #expect(UInt64(cell.ticks) + cell.missed >= 20)
    }

    /// These peers cannot be given a start. They are measured on their own grid.
    @Test(arguments: Peer.available.filter { [.asyncTimer, .libeventPrecise].contains($0) }, [1, 3])
    func repeatingPeersAreNeverEarlyOnTheirGrid(_ peer: Peer, timers: Int) throws {
        let cell = try Short.measure([Row(.peer(peer))]) { $0.timers = timers }[0]
        // libevent counts whole microseconds.
        #expect(cell.lateness.moments.min >= -1000)
    }

    @Test(arguments: Peer.available)
    func everyPeerTicksWithManyTimers(_ peer: Peer) throws {
        let cell = try Short.measure([Row(.peer(peer))]) { $0.timers = 5 }[0]
        #expect(UInt64(cell.ticks) + cell.missed >= 100)
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// In its own process, whose descriptors no other test opens.
    @Test(arguments: Peer.available.map(\.rawValue))
    func peersLeaveNoThreadsAndDescriptors(_ name: String) async {
        await #expect(processExitsWith: .success) { [name] in
            let row = Row(.peer(try #require(Peer(rawValue: name))))
            try Short.turns(2, of: row)
            let descriptors = ProcFS.openDescriptors
            try Short.turns(50, of: row)
            #expect(await soon { ProcFS.threads(named: "peer.").isEmpty })
            // Dispatch opens some descriptors at its first use, and keeps them.
            #expect(await soon { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }
    #endif

    @Test func aStoppedTurnEndsItsPeer() async throws {
        for peer in Peer.available {
            #expect(try Short.isStopped(Row(.peer(peer))) { _ in false })
        }
        #expect(await soon { ProcFS.threads(named: "peer.").isEmpty })
    }

    @Test func peersAreMeasuredOnTheSuspendingClock() throws {
        let cell = try Short.measure([Row(.peer(.dispatchSource))]) { $0.clock = .wall }[0]
        #expect(UInt64(cell.ticks) + cell.missed >= 20)
    }

    @Test func foundationTimersBelowAMicrosecondAreLeftOut() throws {
        var request = Short.request([Row(.peer(.foundationTimer)), Row(.peer(.libevent))])
        request.period = .nanoseconds(999)
        let plan = try MeasurementPlan(request)
        #expect(plan.rows.map(\.name) == ["peer-libevent"])
        #expect(plan.leftOut.map(\.asked) == ["peer-foundation-timer"])
        request.rows.removeLast()
        #expect(throws: Problem.self) { try MeasurementPlan(request) }
    }

    @Test func deadlinesOfATooShortPeriodAreAccountedFor() throws {
        for peer in Peer.available {
            let cell =
                try
                Short.measure([Row(.peer(peer))]) { request in
                    request.period = .microseconds(1)
                    request.turn = .microseconds(200)
                }[0]
            #expect(UInt64(cell.ticks) + cell.missed >= 200, "\(peer)")
        }
    }
}

/// The loops that backends are compared with.
@Suite(.works("a bare loop sleeps in the kernel")) struct ReferenceTests {
    @Test func afterAStallEveryTimerIsOnItsGridAgain() {
        let start = TimerInstant(nanoseconds: 1_000_000)
        let probes = [UInt64(0), 300, 700]
            .map { phase in
                Probe(Deadlines(start: start + phase, period: 1000), goal: 20)
            }
        var (now, waits) = (start, 0)
        ReferenceLoop.loop(
            probes,
            StopFlag(),
            waitingBy: { deadline in
                waits += 1
                // The seventh wake-up is late by more than two periods, all others by 10 ns.
                now = max(now, deadline) + (waits == 7 ? 2_400 : 10)
            },
            readingBy: { _ in now }
        )
        let results = probes.map(\.result)
        #expect(results.allSatisfy { $0.problem == nil && $0.accounted == 20 })
        #expect(results.map(\.missed) == [2, 2, 1])
        // The stall made one tick of each timer late.
        #expect(results.map { $0.samples.filter { $0.lateness > 30 }.count } == [1, 1, 1])
    }

    @Test(arguments: Reference.allCases)
    func manyTimersAreAccountedFor(_ reference: Reference) throws {
        let cell = try Short.measure([Row(.reference(reference))]) { $0.timers = 7 }[0]
        #expect(UInt64(cell.ticks) + cell.missed >= 140)
        #expect(cell.problem == nil)
    }
}

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
