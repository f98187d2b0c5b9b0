import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Real turns of timers without the library.
@Suite(.serialized)
struct PeerTests {
    @Test(arguments: Peer.available)
    func everyPeerAccountsForItsDeadlines(_ peer: Peer) async throws {
        let cell = try await Short.measure([Row(.peer(peer))])[0]
        #expect(cell.key == RowKey(row: peer.rawValue, kind: .peer, load: "idle"))
        #expect(UInt64(cell.ticks) + cell.missed >= 20)
    }

    /// These peers cannot be given a start. They are measured on their own grid.
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

    /// In its own process, whose descriptors no other test opens.
    @Test(arguments: Peer.available.map(\.rawValue))
    func peersLeaveNoThreadsAndDescriptors(_ name: String) async {
        await #expect(processExitsWith: .success) { [name] in
            let row = Row(.peer(try #require(Peer(rawValue: name))))
            try await Short.turns(2, of: row)
            let descriptors = ProcFS.openDescriptors
            try await Short.turns(50, of: row)
            #expect(await soon { ProcFS.threads(named: "peer.").isEmpty })
            // Dispatch opens some descriptors at its first use, and keeps them.
            #expect(await soon { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }

    @Test func aStoppedTurnEndsItsPeer() async throws {
        for peer in Peer.available {
            #expect(try await Short.isStopped(Row(.peer(peer))) { _ in false })
        }
        #expect(await soon { ProcFS.threads(named: "peer.").isEmpty })
    }

    @Test func peersAreMeasuredOnTheSuspendingClock() async throws {
        let cell = try await Short.measure([Row(.peer(.dispatchSource))]) { $0.clock = .wall }[0]
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

    @Test func deadlinesOfATooShortPeriodAreAccountedFor() async throws {
        for peer in Peer.available {
            let cell =
                try await
                Short.measure([Row(.peer(peer))]) { request in
                    request.period = .microseconds(1)
                    request.turn = .microseconds(200)
                }[0]
            #expect(UInt64(cell.ticks) + cell.missed >= 200, "\(peer)")
        }
    }
}
