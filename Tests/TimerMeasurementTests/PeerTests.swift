import PreciseTimer
import TestSupport
import Testing
import TimerCore
import TimerMeasurement

/// Real turns of what one would write without the library.
@Suite(.serialized)
struct PeerTests {
    @Test(arguments: Peer.available)
    func everyPeerAccountsForItsDeadlines(_ peer: Peer) async throws {
        let cell = try await Short.measure([Row(.peer(peer))])[0]
        #expect(cell.case == Case(row: peer.rawValue, kind: .peer, load: "idle"))
        #expect(UInt64(cell.ticks) + cell.missed >= 20)
    }

    /// What has no start of its own is measured on the grid that it has.
    @Test(arguments: Peer.available.filter { [.asyncTimer, .libeventPrecise].contains($0) }, [1, 3])
    func repeatingPeersAreNeverEarlyOnTheirGrid(_ peer: Peer, timers: Int) async throws {
        let cell = try await Short.measure([Row(.peer(peer))]) { $0.timers = timers }[0]
        // libevent counts whole microseconds.
        #expect(cell.lateness.moments.min >= -1000)
    }

    @Test(arguments: Peer.available)
    func everyPeerTicksWithManyTimers(_ peer: Peer) async throws {
        let cell = try await Short.measure([Row(.peer(peer))]) { $0.timers = 5 }[0]
        #expect(UInt64(cell.ticks) + cell.missed >= 100)
    }

    /// A second turn finds what the first left behind; none is to leave more than the one before. In a process of its own,
    /// where nobody else opens any.
    @Test(arguments: Peer.available.map(\.rawValue))
    func peersLeaveNoThreadsAndDescriptors(_ name: String) async {
        await #expect(processExitsWith: .success) { [name] in
            let row = Row(.peer(try #require(Peer(rawValue: name))))
            try await Short.turns(2, of: row)
            let descriptors = ProcFS.openDescriptors
            try await Short.turns(50, of: row)
            #expect(await soon { ProcFS.threads(named: "peer.").isEmpty })
            // Dispatch opens some when anybody first waits on it, and keeps them.
            #expect(await soon { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }

    @Test
    func aStoppedTurnEndsItsPeer() async throws {
        for peer in Peer.available {
            #expect(try await Short.isStopped(Row(.peer(peer))) { _ in false })
        }
        #expect(await soon { ProcFS.threads(named: "peer.").isEmpty })
    }

    @Test
    func peersAreMeasuredOnTheirOwnClock() async throws {
        let cell = try await Short.measure([Row(.peer(.dispatchSource))]) { $0.clock = .wall }[0]
        #expect(UInt64(cell.ticks) + cell.missed >= 20)
    }

    @Test
    func foundationHasNoTimersBelowAMicrosecond() throws {
        var request = Short.request([Row(.peer(.foundationTimer)), Row(.peer(.libevent))])
        request.period = .nanoseconds(999)
        let plan = try MeasurementPlan(request)
        #expect(plan.rows.map(\.name) == ["peer-libevent"])
        #expect(plan.leftOut.map(\.asked) == ["peer-foundation-timer"])
        request.rows.removeLast()
        #expect(throws: MeasurementPlan.Refusal.self) { try MeasurementPlan(request) }
    }

    @Test
    func aPeriodThatNobodyCanMeetIsAccountedFor() async throws {
        for peer in Peer.available {
            let cell =
                try await
                Short.measure([Row(.peer(peer))]) { request in
                    request.period = .microseconds(1)
                    request.duration = .microseconds(200)
                }[0]
            #expect(UInt64(cell.ticks) + cell.missed >= 200, "\(peer)")
        }
    }

    @Test
    func theListNamesEveryRow() {
        let names = RowList.text.split(separator: "\n").map { $0.split(separator: " ")[0] }
        let rows = TimerService.Backend.allCases.map(\.rawValue) + Peer.allCases.map(\.rawValue)
        #expect(names.map(String.init) == rows + Reference.allCases.map(\.rawValue) + ["cyclictest"])
    }
}
