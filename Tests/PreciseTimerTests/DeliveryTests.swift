import Dispatch
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
}

/// A tick on its way to a busy place. `SmallWorldTests` has all calls meanwhile.
@Suite(.waits("a queue or an actor is busy while a tick is on its way"), .timeLimit(.minutes(60))) struct HopTests {
    private let scene = Scene()

    @Test(arguments: DeliveryKind.hops, [true, false])
    func aTimerThatEndsOnTheWayDoesNotTickAndReleasesAtOnce(kind: DeliveryKind, isCancelled: Bool) async throws {
        let (place, gate, released, log) = (Place(kind), Gate(), Count(), scene.log)
        var captured: Thing? = Thing { released.add(1) }
        let timer = try place.schedule(.every(.milliseconds(1)), on: scene.virtual.service, target: log) {
            [captured] tick in withExtendedLifetime(captured) { log.note(tick) }
        }
        captured = nil
        await place.block(until: gate)
        scene.virtual.advanceWithoutSettling(by: .milliseconds(1))
        // A hop to an actor is a task: let it come as far as it can.
        try await Task.sleep(for: .milliseconds(10))
        #expect(released.value == 0)
        let hasEnded = isCancelled ? timer.cancel() : scene.virtual.service.shutdown()
        #expect(hasEnded)
        #expect(released.value == 1, "before the tick arrives")
        let endsNow = await timer.cancelAndWait()
        #expect(!endsNow, "no handler runs that would have to be awaited")
        gate.open()
        await place.settle()
        #expect(log.count == 0)
        #expect(timer.state == .ended(isCancelled ? .cancelled : .serviceShutDown))
    }

    /// As for the main actor in a program whose main thread does not serve it.
    @Test func aTickThatDoesNotArriveIsInTheSnapshotWithItsDeadline() async throws {
        let (service, stuck, log) = (scene.virtual.service, SuspendedQueue(), scene.log)
        let place = PreciseTimer.Delivery.queue(stuck.queue)
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: service, deliver: place) { log.note($1) }
        let waitingSince = { service.activeTimers.map { scene.time($0.waitingSince) } }
        #expect(waitingSince() == [nil])
        scene.virtual.advanceWithoutSettling(by: .seconds(10))
        #expect(waitingSince() == ["1000"])
        #expect("\(service)".contains("0 ticks, waiting since \(scene.at(1_000))"))
        timer.pause()
        #expect(waitingSince() == [nil], "no tick is due")
        timer.resume()
        stuck.letRun()
        #expect(await soon { log.count > 0 && waitingSince() == [nil] })
    }

    // The record of a timer holds its queue.
    @Test func timersCancelledOnTheWayToAQueueAreForgottenWithTheirHandle() async throws {
        weak var queue: DispatchQueue?
        do {
            let (serial, gate) = (DispatchQueue(label: "test.leftover"), Gate())
            queue = serial
            serial.async { gate.pass() }
            let timer = try PreciseTimer.schedule(
                .once(after: .seconds(1)),
                on: scene.virtual.service,
                deliver: .queue(serial),
                target: gate
            ) { _, _ in }
            scene.virtual.advanceWithoutSettling(by: .seconds(1))
            timer.cancel()
            gate.open()
        }
        #expect(await soon { queue == nil })
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

    /// In swift-async-algorithms the copies disagree, and a call after the end does not return.
    @Test func copiesOfAnIteratorShareItsTicksAndItsEnd() async throws {
        var one = PreciseTimer.ticks(.every(.seconds(1), count: 2), on: virtual.service).makeAsyncIterator()
        var other = one
        virtual.advanceWithoutSettling(by: .seconds(1))
        var seen = [try await one.next()?.index]
        virtual.advanceWithoutSettling(by: .seconds(1))
        for _ in 0..<2 { seen += [try await other.next()?.index, try await one.next()?.index] }
        #expect(seen == [0, 1, nil, nil, nil])
    }
}
