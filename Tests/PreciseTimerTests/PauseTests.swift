import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A paused timer holds its ticks back. Here its pause keeps the grid, and ``RemainingTests`` show the other kind.
struct PauseTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func pausingHoldsTicksBackAndResumingAppliesTheMissedTickPolicy() throws {
        let start = virtual.now
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(10))
        #expect(timer.pause(keeping: .grid))
        #expect(timer.state == .paused)
        virtual.advance(by: .milliseconds(35))
        #expect(log.count == 1)
        #expect(timer.nextDeadline == start.advanced(by: .milliseconds(20)), "its tick is still to come")
        #expect(virtual.pendingCount == 1)

        #expect(timer.resume())
        #expect(timer.state == .scheduled)
        #expect(log.count == 1, "nothing is delivered inside the call")
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.index) == [0, 1])
        #expect(log.ticks.map(\.missed) == [0, 2])
        #expect(log.ticks.last?.lateness == .milliseconds(25))
        #expect(timer.nextDeadline == start.advanced(by: .milliseconds(50)))
    }

    @Test func pauseAndResumeReturnTrueOnlyForTheCallThatChangedTheState() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        #expect(timer.resume() == false)
        #expect(timer.pause(keeping: .grid))
        #expect(timer.pause(keeping: .grid) == false)
        #expect(timer.resume())
        #expect(timer.resume() == false)
        timer.cancel()
        #expect(timer.pause(keeping: .grid) == false)
        #expect(timer.resume() == false)
        #expect(timer.state == .ended(.cancelled))
    }

    @Test func aPauseBetweenTwoDeadlinesChangesNothing() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(12))
        timer.pause(keeping: .grid)
        virtual.advance(by: .milliseconds(6))
        timer.resume()
        virtual.advance(by: .milliseconds(12))
        #expect(log.ticks.map(\.index) == [0, 1, 2])
        #expect(log.ticks.allSatisfy { $0.missed == 0 && $0.lateness == .zero })
    }

    @Test func aSingleDeadlineThatPassesDuringThePauseIsDeliveredAfterIt() throws {
        let timer = try schedule(.once(after: .milliseconds(10)))
        timer.pause(keeping: .grid)
        virtual.advance(by: .milliseconds(50))
        #expect(virtual.pendingCount == 1)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.lateness) == [.milliseconds(40)])
        #expect(log.ticks.map(\.missed) == [0])
        #expect(timer.state == .ended(.completed))
    }

    @Test func aTimerCanBeCreatedPaused() throws {
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(10)),
            on: virtual.service,
            paused: true,
            target: log
        ) { $0.note($1) }
        #expect(timer.state == .paused)
        #expect(virtual.nextDeadline == nil)
        virtual.advance(by: .milliseconds(25))
        #expect(log.count == 0)
        #expect(timer.remaining == .milliseconds(10), "its deadlines count from the resume on")
        timer.resume()
        virtual.advance(by: .milliseconds(9))
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(1))
        #expect(log.ticks.map(\.index) == [0])
        #expect(log.ticks.map(\.missed) == [0])
    }

    @Test func aTimerPausedInItsHandlerDoesNotTickAgain() throws {
        let states = Notes<PreciseTimer.State>()
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(10)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 5)
        ) { timer, _ in
            timer.pause(keeping: .grid)
            states.append(timer.state)
        }
        virtual.jump(by: .milliseconds(30))
        #expect(states.all == [.paused], "it does not catch up either")
        timer.resume()
        virtual.advance(by: .zero)
        #expect(states.all.count == 2)
    }

    @Test func aSiblingPausedInTheSameBatchDoesNotRunUntilItIsResumed() throws {
        let sibling = Box<PreciseTimer>()
        try PreciseTimer.schedule(.once(after: .milliseconds(10)), on: virtual.service, target: log) { _, _ in
            sibling.value?.pause(keeping: .grid)
        }
        sibling.value = try schedule(.once(after: .milliseconds(10)))
        virtual.advance(by: .milliseconds(20))
        #expect(log.count == 0)
        sibling.value?.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.lateness) == [.milliseconds(10)])
    }

    @Test func theStateOfAPausedTimerNoticesAReleasedTarget() throws {
        var target: Log? = Log()
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(10)),
            on: virtual.service,
            paused: true,
            target: try #require(target)
        ) { $0.note($1) }
        #expect(timer.state == .paused)
        target = nil
        #expect(timer.state == .ended(.targetReleased))
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0, "the service finds it")
    }

    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }
}
