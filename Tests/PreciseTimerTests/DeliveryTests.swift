import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The places in which handlers run, and the deadlines that pass while a place is busy.
@Suite(.waits("queues and actors call the handler when they like"), .timeLimit(.minutes(60))) struct DeliveryTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test(arguments: DeliveryKind.allCases)
    func handlersRunInTheRequestedPlace(kind: DeliveryKind) async throws {
        let (place, here) = (Place(kind), Notes<Bool>())
        let timer = try place.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _ in
            here.append(place.isHere)
        }
        for count in 1...3 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            // Polled, because the previous handler may not have returned when time was moved.
            let hasCome = await soon {
                virtual.advance(by: .zero)
                return here.all.count == count
            }
            #expect(hasCome)
        }
        timer.cancel()
        #expect(here.all == [true, true, true])
    }

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

    @Test(arguments: DeliveryKind.allCases)
    func aFixedDelayCountsFromTheHandlersReturn(kind: DeliveryKind) async throws {
        let (place, gate, log, entered) = (Place(kind), Gate(), log, Gate())
        let timer = try place.schedule(.fixedDelay(.milliseconds(5)), on: virtual.service, target: log) { tick in
            entered.open()
            if place.kind != .inline { gate.pass() }
            log.note(tick)
        }
        virtual.advanceWithoutSettling(by: .milliseconds(5))
        await entered.pass()
        if kind != .inline {
            #expect(timer.nextDeadline == nil, "it depends on the handler's return")
            virtual.advanceWithoutSettling(by: .milliseconds(20))
        }
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        #expect(timer.nextDeadline == virtual.now.advanced(by: .milliseconds(5)))
        timer.cancel()
    }
}

/// Calls on a timer while its tick is on its way to a busy place.
@Suite(.waits("a queue or an actor is busy while a tick is on its way"), .timeLimit(.minutes(60))) struct HopTests {
    private let virtual = VirtualTime()
    private let log = Log()

    /// Makes a place busy, and a timer whose tick is on its way there.
    private func timerOnItsWay(
        to place: Place,
        past gate: Gate,
        _ schedule: PreciseTimer.Schedule = .every(.milliseconds(1)),
        capturing captured: Thing? = nil
    ) async throws -> PreciseTimer {
        let log = log
        let timer = try place.schedule(schedule, on: virtual.service, target: log) { [captured] tick in
            withExtendedLifetime(captured) { log.note(tick) }
        }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        // A hop to an actor is a task: let it come as far as it can.
        try await Task.sleep(for: .milliseconds(10))
        return timer
    }

    /// Lets time pass, and each tick arrive that comes due.
    private func advance(_ milliseconds: Int, until count: Int, in place: Place) async {
        virtual.advanceWithoutSettling(by: .milliseconds(milliseconds))
        #expect(await soon { log.count == count })
        await place.settle()
    }

    @Test(arguments: DeliveryKind.hops, [true, false])
    func aTimerThatEndsOnTheWayDoesNotTickAndReleasesAtOnce(kind: DeliveryKind, isCancelled: Bool) async throws {
        let (place, gate, released) = (Place(kind), Gate(), Count())
        let timer = try await timerOnItsWay(to: place, past: gate, capturing: Thing { released.add(1) })
        #expect(released.value == 0)
        let hasEnded = isCancelled ? timer.cancel() : virtual.service.shutdown()
        #expect(hasEnded)
        #expect(released.value == 1, "before the tick arrives")
        #expect(timer.cancelAndWaitBlocking() == false, "no handler runs that would have to be awaited")
        gate.open()
        await place.settle()
        #expect(log.count == 0)
        #expect(timer.state == .ended(isCancelled ? .cancelled : .serviceShutDown))
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerPausedOnTheWayTicksOnceWhenResumed(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let start = virtual.now.advanced(by: .milliseconds(1))
        let timer = try await timerOnItsWay(to: place, past: gate)
        #expect(timer.pause(keeping: .grid))
        gate.open()
        await place.settle()
        await advance(5, until: 0, in: place)
        #expect(timer.resume())
        await advance(0, until: 1, in: place)
        #expect(log.ticks.map(\.missed) == [5])
        #expect(log.ticks.flaw(from: start, every: .milliseconds(1)) == nil)
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerRescheduledOnTheWayTicksForTheNewScheduleOnly(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let timer = try await timerOnItsWay(to: place, past: gate)
        let start = virtual.now.advanced(by: .milliseconds(7))
        try timer.reschedule(.every(.milliseconds(2), after: .milliseconds(7)))
        gate.open()
        await place.settle()
        #expect(log.count == 0)
        await advance(7, until: 1, in: place)
        await advance(2, until: 2, in: place)
        #expect(log.ticks.flaw(from: start, every: .milliseconds(2)) == nil)
        timer.cancel()
    }

    @Test(arguments: DeliveryKind.hops)
    func theOnlyTickOfATimerRescheduledOnTheWayIsNotItsLast(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let timer = try await timerOnItsWay(to: place, past: gate, .once(after: .milliseconds(1)))
        // The new deadline has passed, too, when the old tick arrives.
        try timer.reschedule(.once(after: .milliseconds(1)))
        let due = virtual.now.advanced(by: .milliseconds(1))
        virtual.advanceWithoutSettling(by: .milliseconds(3))
        gate.open()
        await place.settle()
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { timer.state == .ended(.completed) })
        #expect(log.ticks.map(\.deadline) == [due])
    }

    @Test(arguments: DeliveryKind.hops)
    func aTimerFiredOnTheWayGetsBothTicks(kind: DeliveryKind) async throws {
        let (place, gate) = (Place(kind), Gate())
        let next = virtual.now.advanced(by: .milliseconds(1_001))
        let timer = try await timerOnItsWay(to: place, past: gate, .every(.seconds(1), after: .milliseconds(1)))
        timer.fire()
        gate.open()
        #expect(await soon { log.count == 1 })
        await place.settle()
        await advance(0, until: 2, in: place)
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 0]], "the extra tick has the next index")
        #expect(timer.nextDeadline == next)
        timer.cancel()
    }

    @Test(arguments: [DeliveryKind.serialQueue, .concurrentQueue, .mainActor])
    func aTargetReleasedOnTheWayIsNotCalledAndEndsTheTimer(kind: DeliveryKind) async throws {
        let (place, gate, log, reasons) = (Place(kind), Gate(), log, Notes<PreciseTimer.EndReason>())
        var target: Thing? = Thing()
        let timer = try place.schedule(
            .every(.milliseconds(1)),
            on: virtual.service,
            target: try #require(target),
            onEnd: reasons.append,
            handler: { log.note($0) }
        )
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        target = nil
        gate.open()
        await place.settle()
        #expect(reasons.all == [.targetReleased], "the tick notices the released target")
        #expect(log.count == 0 && timer.state == .ended(.targetReleased))
    }
}

/// Ticks as an asynchronous sequence, on virtual time: due ticks wait for the consumer.
@Suite(.waits("tasks wait on threads of their own"), .timeLimit(.minutes(60))) struct TicksTests {
    private let virtual = VirtualTime()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    private func ticks(
        _ schedule: PreciseTimer.Schedule,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) -> TimerTicks.Iterator {
        PreciseTimer.ticks(schedule, on: virtual.service, missedTicks: policy).makeAsyncIterator()
    }

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
        var ticks = ticks(second, policy)
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

    @Test func theSequenceEndsAfterTheLastDeadline() async throws {
        var ticks = ticks(.once(after: .seconds(1)))
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(try await [ticks.next()?.index, ticks.next()?.index, ticks.next()?.index] == [0, nil, nil])
        #expect(virtual.pendingCount == 0)
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

    @Test func aTaskCancelledBeforehandGetsNoTick() async throws {
        let service = virtual.service
        let consumer = Task {
            while !Task.isCancelled { await Task.yield() }
            var ticks = PreciseTimer.ticks(.once(after: .zero), on: service).makeAsyncIterator()
            return try await ticks.next()
        }
        consumer.cancel()
        #expect(try await consumer.value == nil)
        #expect(service.pendingCount == 0)
    }

    @Test func aShutdownEndsTheSequence() async throws {
        var ticks = ticks(second)
        virtual.service.shutdown()
        #expect(try await ticks.next() == nil)
    }

    @Test func theErrorOfAFailedBackendIsThrownOnceAndEndsTheSequence() async throws {
        let alarm = RefusingAlarm(settings: .max)
        let service = try TimerService(alarm: alarm)
        var ticks = PreciseTimer.ticks(.every(.seconds(1)), on: service).makeAsyncIterator()
        alarm.fail()
        await #expect(throws: RefusingAlarm.refusal) { try await ticks.next() }
        #expect(try await [ticks.next()?.index, ticks.next()?.index] == [nil, nil])
    }

    @Test func aScheduleThatMakesNoSenseIsThrownByTheFirstNextAndEndsTheSequence() async throws {
        var ticks = ticks(.every(.zero))
        let error = await #expect(throws: TimerError.self) { try await ticks.next() }
        #expect(error?.code == .invalidSchedule)
        #expect(try await [ticks.next()?.index, ticks.next()?.index] == [nil, nil])
        #expect(virtual.pendingCount == 0)
    }

    /// The service is shut down while the tick waits, or after it found the tick due and before it sends the tick.
    @Test(arguments: [false, true])
    func aTickThatIsSentAfterTheEndOrWaitsThenIsNotKept(isSentAfterwards: Bool) throws {
        weak var gone: ManualAlarm?
        do {
            let alarm = ManualAlarm()
            gone = alarm
            let service = try TimerService(alarm: alarm)
            let iterator = PreciseTimer.ticks(second, on: service).makeAsyncIterator()
            alarm.move(by: .seconds(1))
            // The first reading begins the round.
            if isSentAfterwards { alarm.happen(before: 2) { [weak service] in service?.shutdown() } }
            alarm.fire()
            #expect(service.shutdown() == !isSentAfterwards)
            withExtendedLifetime(iterator) {}
        }
        #expect(gone == nil, "the tick holds its alarm")
    }

    @Test func theTimerHasTheToleranceAndTheLabelOfTheSequence() throws {
        let ticks = PreciseTimer.ticks(second, on: virtual.service, tolerance: .seconds(2), label: "polls")
        let (iterator, start) = (ticks.makeAsyncIterator(), virtual.now)
        #expect(virtual.service.activeTimers.map(\.label) == ["polls"])
        #expect(virtual.nextDeadline == start.advanced(by: .seconds(3)))
        withExtendedLifetime(iterator) {}
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

extension PreciseTimer {
    /// The blocking form: inside an async function, the compiler would choose the other one.
    fileprivate func cancelAndWaitBlocking() -> Bool { cancelAndWait() }
}
