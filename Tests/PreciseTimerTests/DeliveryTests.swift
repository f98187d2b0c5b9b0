import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The deadlines that pass while a place is busy.
@Suite(.waits("queues and actors call the handler when they like"), .timeLimit(.minutes(60))) struct DeliveryTests {
    private let virtual = VirtualTime()
    private let log = Log()

    /// Of deadlines at 4, 8, … ms that pass until 18 ms: the missed ones of each tick, and the next deadline.
    private static let busyPlaces: [(PreciseTimer.MissedTickPolicy, missed: [Int], next: Int)] = [
        (.skip, [3], 20), (.catchUp(limit: 3), [0, 0, 1], 20), (.delay, [3], 22),
    ]

    @Test(arguments: DeliveryKind.hops, busyPlaces)
    func deadlinesThatPassWhileThePlaceIsBusyFollowThePolicy(
        kind: DeliveryKind,
        expected: (policy: PreciseTimer.MissedTickPolicy, missed: [Int], next: Int)
    ) async throws {
        let (place, gate, log, begin) = (Place(kind), Gate(), log, virtual.now)
        let at = { (milliseconds: Int) in begin.advanced(by: .milliseconds(milliseconds)) }
        let timer = try place.schedule(
            .every(.milliseconds(4)),
            on: virtual.service,
            missedTicks: expected.policy,
            target: log
        ) { log.note($0) }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(18))
        #expect(virtual.service.nextWakeTime == nil, "no deadline is awaited while a tick is on its way")
        gate.open()
        #expect(await soon { log.count == expected.missed.count && virtual.service.nextWakeTime != nil })
        #expect(log.ticks.map(\.missed) == expected.missed)
        #expect(log.ticks.flaw(from: at(4), every: .milliseconds(4)) == nil)
        let tick = try #require(log.ticks.first)
        #expect([tick.woke, tick.delivered, timer.nextDeadline] == [at(4), at(18), at(expected.next)])
        #expect([tick.wakeLateness, tick.hopLateness] == [.zero, .milliseconds(14)])
        virtual.advanceWithoutSettling(by: .milliseconds(4))
        #expect(await soon { log.ticks.last?.deadline == at(expected.next) })
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func aFixedDelayCountsFromTheHandlersReturn(kind: DeliveryKind) async throws {
        let (place, gate, log, entered) = (Place(kind), Gate(), log, Gate())
        let timer = try place.schedule(.fixedDelay(.milliseconds(5)), on: virtual.service, target: log) { tick in
            entered.open()
            gate.pass()
            log.note(tick)
        }
        virtual.advanceWithoutSettling(by: .milliseconds(5))
        await entered.pass()
        #expect(timer.nextDeadline == nil, "it depends on the handler's return")
        virtual.advanceWithoutSettling(by: .milliseconds(20))
        gate.open()
        #expect(await soon { timer.nextDeadline == virtual.now.advanced(by: .milliseconds(5)) && log.count == 1 })
        timer.cancel()
    }
}

/// Calls on a timer while its tick is on its way to a busy place.
@Suite(.waits("a queue or an actor is busy while a tick is on its way"), .timeLimit(.minutes(60))) struct HopTests {
    private let scene = Scene()

    /// Makes a place busy, and a timer whose tick is on its way there.
    private func timerOnItsWay(
        to place: Place,
        past gate: Gate,
        _ schedule: PreciseTimer.Schedule = .every(.milliseconds(1)),
        capturing captured: Thing? = nil
    ) async throws -> PreciseTimer {
        let log = scene.log
        let timer = try place.schedule(schedule, on: scene.virtual.service, target: log) { [captured] tick in
            withExtendedLifetime(captured) { log.note(tick) }
        }
        await place.block(until: gate)
        scene.virtual.advanceWithoutSettling(by: .milliseconds(1))
        // A hop to an actor is a task: let it come as far as it can.
        try await Task.sleep(for: .milliseconds(10))
        return timer
    }

    @Test(arguments: DeliveryKind.hops, [true, false])
    func aTimerThatEndsOnTheWayDoesNotTickAndReleasesAtOnce(kind: DeliveryKind, isCancelled: Bool) async throws {
        let (place, gate, released) = (Place(kind), Gate(), Count())
        let timer = try await timerOnItsWay(to: place, past: gate, capturing: Thing { released.add(1) })
        #expect(released.value == 0)
        let hasEnded = isCancelled ? timer.cancel() : scene.virtual.service.shutdown()
        #expect(hasEnded)
        #expect(released.value == 1, "before the tick arrives")
        let endsNow = await timer.cancelAndWait()
        #expect(!endsNow, "no handler runs that would have to be awaited")
        gate.open()
        await place.settle()
        #expect(scene.log.count == 0)
        #expect(timer.state == .ended(isCancelled ? .cancelled : .serviceShutDown))
    }

    /// A schedule whose tick at 1 ms is on its way, a call meanwhile, and the milliseconds for which the place stays
    /// busy. Then the milliseconds until a paused timer is resumed, and those that pass after that.
    private typealias Story = (
        schedule: PreciseTimer.Schedule, call: @Sendable (PreciseTimer) throws -> Void, busy: Int, paused: Int,
        later: [Int], ticks: String
    )

    private static let stories: [Story] = [
        (.every(.milliseconds(1)), { $0.pause(keeping: .grid) }, 0, 5, [0], "0@1 late 5 missed 5"),
        (
            .every(.milliseconds(1)), { try $0.reschedule(.every(.milliseconds(2), after: .milliseconds(7))) }, 0, 0,
            [7, 2], "0@8, 1@10"
        ),
        // The new deadline has passed, too, when the old tick arrives, which is not the last.
        (.once(after: .milliseconds(1)), { try $0.reschedule(.once(after: .milliseconds(1))) }, 3, 0, [], "0@2 late 2"),
        // The extra tick has the next index.
        (
            .every(.seconds(1), after: .milliseconds(1)), { $0.fire() }, 0, 0, [1_000],
            "0@1, extra 1@1, 1@1001"
        ),
    ]

    @Test(arguments: DeliveryKind.hops, stories.indices)
    func aCallOnTheWayCountsBeforeTheTick(kind: DeliveryKind, number: Int) async throws {
        let (place, gate, story) = (Place(kind), Gate(), Self.stories[number])
        let timer = try await timerOnItsWay(to: place, past: gate, story.schedule)
        try story.call(timer)
        scene.virtual.advanceWithoutSettling(by: .milliseconds(story.busy))
        gate.open()
        await scene.virtual.advance(by: .milliseconds(story.paused))
        timer.resume()
        for time in [0] + story.later { await scene.virtual.advance(by: .milliseconds(time)) }
        #expect(scene.ticks == story.ticks)
        timer.cancel()
    }
}

/// Ticks as an asynchronous sequence, on virtual time: due ticks wait for the consumer.
@Suite(.waits("tasks wait on threads of their own"), .timeLimit(.minutes(60))) struct TicksTests {
    private let virtual = VirtualTime()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    /// Milliseconds that pass, and the ticks that a consumer takes then: the index, the missed ones, and how many
    /// milliseconds after its deadline it woke and was delivered.
    private static let consumers: [(PreciseTimer.MissedTickPolicy, [(time: Int, ticks: [[Int]])])] = [
        (.skip, [(1_000, [[0, 0, 0, 0]]), (1_000, [[1, 0, 0, 0]]), (1_000, [[2, 0, 0, 0]])]),
        (.skip, [(5_500, [[0, 4, 0, 4_500]]), (500, [[5, 0, 0, 0]])]),
        (
            .catchUp(limit: 3),
            [(5_000, [[0, 0, 0, 4_000], [1, 0, 0, 3_000], [2, 2, 0, 2_000]]), (1_000, [[5, 0, 0, 0]])]
        ),
    ]

    @Test(arguments: consumers)
    func eachTickIsHandedOverOnceWithWhatASlowConsumerMissed(
        policy: PreciseTimer.MissedTickPolicy,
        moves: [(time: Int, ticks: [[Int]])]
    ) async throws {
        let start = virtual.now
        var ticks = PreciseTimer.ticks(second, on: virtual.service, missedTicks: policy).makeAsyncIterator()
        for (time, expected) in moves {
            virtual.advanceWithoutSettling(by: .milliseconds(time))
            for expected in expected {
                let tick = try #require(try await ticks.next())
                let times = [tick.woke, tick.delivered].map { Int(tick.deadline.duration(to: $0) / .milliseconds(1)) }
                #expect([tick.index, tick.missed] + times == expected)
                #expect(tick.deadline == start.advanced(by: .seconds(tick.index + 1)))
            }
        }
    }

    @Test func aWaitingConsumerIsWoken() async throws {
        let service = virtual.service
        let consumer = Task {
            var indices: [Int] = []
            for try await tick in PreciseTimer.ticks(.every(.seconds(1)), on: service) {
                indices.append(tick.index)
                if indices.count == 3 { break }
            }
            return indices
        }
        // One second at a time, after the consumer has taken the previous tick.
        for expected in 1...3 {
            #expect(await soon { service.activeTimers.first?.ticks == expected - 1 })
            virtual.advanceWithoutSettling(by: .seconds(1))
        }
        #expect(try await consumer.value == [0, 1, 2])
        #expect(virtual.pendingCount == 0, "leaving the loop ends the timer")
    }

    @Test func cancellingTheTaskEndsTheTimerAtOnce() async throws {
        let service = virtual.service
        var endedAtOnce = 0
        for _ in 0..<10 {
            let consumer = Task {
                var count = 0
                for try await _ in PreciseTimer.ticks(.every(.seconds(1)), on: service) { count += 1 }
                return count
            }
            #expect(await soon { service.pendingCount == 1 })
            consumer.cancel()
            endedAtOnce += 1 - service.pendingCount
            #expect(try await consumer.value == 0)
        }
        // A consumer that is not yet waiting for a tick notices the cancellation only when it asks for one.
        #expect(endedAtOnce > 0, "the timer ends before the task notices")
    }

    /// Why a sequence ends.
    enum End: CaseIterable { case lastDeadline, shutdown, failure, nonsense, cancelledTask }

    @Test(arguments: End.allCases) func theSequenceEndsOnceAndThrowsOnlyAnError(end: End) async throws {
        let (virtual, alarm) = (virtual, RefusingAlarm())
        let service = end == .failure ? try TimerService(alarm: alarm) : virtual.service
        let schedule: PreciseTimer.Schedule =
            end == .nonsense ? .every(.zero) : end == .lastDeadline ? .once(after: .zero) : second
        let consumer = Task {
            while end == .cancelledTask, !Task.isCancelled { await Task.yield() }
            var (ticks, answers) = (PreciseTimer.ticks(schedule, on: service).makeAsyncIterator(), [String?]())
            switch end {
            case .lastDeadline: virtual.advanceWithoutSettling(by: .zero)
            case .shutdown: service.shutdown()
            case .failure: alarm.fail()
            case .nonsense, .cancelledTask: break
            }
            for _ in 1...3 {
                do { answers.append(try await ticks.next().map { "tick \($0.index)" }) } catch {
                    answers.append((error as? TimerError)?.code.name ?? "\(error)")
                }
            }
            return answers
        }
        if end == .cancelledTask { consumer.cancel() }
        let codes = [End.failure: TimerError.Code.systemRefused, .nonsense: .invalidSchedule]
        let first = end == .lastDeadline ? "tick 0" : codes[end]?.name
        #expect(await consumer.value == [first, nil, nil])
        #expect(service.pendingCount == 0)
    }

    /// What happens to a tick that is not taken.
    enum Loss: CaseIterable { case shutdownWhileItWaits, shutdownBeforeItIsSent, endOfIteration }

    @Test(arguments: Loss.allCases) func aTickThatIsNotTakenIsNotKept(loss: Loss) throws {
        weak var gone: ManualAlarm?
        do {
            let alarm = ManualAlarm()
            gone = alarm
            let service = try TimerService(alarm: alarm)
            let iterator = PreciseTimer.ticks(second, on: service).makeAsyncIterator()
            alarm.move(by: .seconds(1))
            // The first reading begins the round.
            if loss == .shutdownBeforeItIsSent { alarm.happen(before: 2) { [weak service] in service?.shutdown() } }
            alarm.fire()
            if loss != .endOfIteration { #expect(service.shutdown() == (loss == .shutdownWhileItWaits)) }
            withExtendedLifetime(iterator) {}
        }
        #expect(gone == nil, "the tick holds its alarm")
    }

    @Test func eachIterationHasItsOwnTimerThatEndsWithIt() throws {
        let sequence = PreciseTimer.ticks(second, on: virtual.service)
        #expect(virtual.pendingCount == 0, "nothing is scheduled yet")
        var iterators = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
        #expect(virtual.pendingCount == 2)
        iterators.removeLast()
        #expect(virtual.pendingCount == 1)
        iterators.removeAll()
        #expect(virtual.pendingCount == 0)
    }
}
