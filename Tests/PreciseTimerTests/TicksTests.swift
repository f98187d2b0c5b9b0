import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Ticks as an asynchronous sequence, on virtual time: due ticks wait for the consumer.
@Suite(.waits("tasks wait on threads of their own"), .timeLimit(.minutes(60))) struct TicksTests {
    private let virtual = VirtualTime()

    private func ticks(
        _ schedule: PreciseTimer.Schedule = .every(.seconds(1)),
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) -> TimerTicks.Iterator {
        PreciseTimer.ticks(schedule, on: virtual.service, missedTicks: policy).makeAsyncIterator()
    }

    @Test func eachTickIsHandedOverOnce() async throws {
        let start = virtual.now
        var ticks = ticks()
        for index in 0..<3 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            let tick = try #require(try await ticks.next())
            #expect(tick.index == index)
            #expect(tick.deadline == start.advanced(by: .seconds(index + 1)))
            #expect(tick.missed == 0)
            #expect(tick.lateness == .zero)
        }
    }

    @Test func aSlowConsumerGetsOneTickThatCountsMissedDeadlines() async throws {
        let start = virtual.now
        var ticks = ticks()
        virtual.advanceWithoutSettling(by: .milliseconds(5_500))
        let late = try #require(try await ticks.next())
        #expect(late.index == 0)
        #expect(late.missed == 4)
        #expect(late.deadline == start.advanced(by: .seconds(1)))
        #expect(late.wakeLateness == .zero)
        #expect(late.hopLateness == .milliseconds(4_500))
        virtual.advanceWithoutSettling(by: .milliseconds(500))
        let next = try #require(try await ticks.next())
        #expect(next.index == 5)
        #expect(next.missed == 0)
    }

    @Test func aConsumerThatCatchesUpGetsEachLateTickUpToItsLimit() async throws {
        var ticks = ticks(.every(.seconds(1)), .catchUp(limit: 3))
        virtual.advanceWithoutSettling(by: .seconds(5))
        var seen: [[Int]] = []
        for _ in 0..<3 {
            let tick = try #require(try await ticks.next())
            seen.append([tick.index, tick.missed])
        }
        #expect(seen == [[0, 0], [1, 0], [2, 2]])
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(try await ticks.next()?.index == 5)
    }

    @Test func theSequenceEndsAfterTheLastDeadline() async throws {
        var ticks = ticks(.once(after: .seconds(1)))
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(try await ticks.next()?.index == 0)
        #expect(try await ticks.next() == nil)
        #expect(try await ticks.next() == nil)
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
        var ticks = ticks()
        virtual.service.shutdown()
        #expect(try await ticks.next() == nil)
    }

    @Test func theErrorOfAFailedBackendIsThrown() async throws {
        let alarm = RefusingAlarm(settings: .max)
        let service = try TimerService(alarm: alarm)
        var ticks = PreciseTimer.ticks(.every(.seconds(1)), on: service).makeAsyncIterator()
        alarm.fail()
        await #expect(throws: RefusingAlarm.refusal) { try await ticks.next() }
    }

    @Test func aScheduleThatMakesNoSenseIsThrownByTheFirstNext() async throws {
        var ticks = ticks(.every(.zero))
        let error = await #expect(throws: TimerError.self) { try await ticks.next() }
        #expect(error?.code == .invalidSchedule)
        #expect(virtual.pendingCount == 0)
    }

    /// The service is shut down after it found the tick due, and before it sends the tick.
    @Test func aTickThatIsSentAfterTheEndIsNotKept() throws {
        weak var gone: ManualAlarm?
        do {
            let alarm = ManualAlarm()
            gone = alarm
            let service = try TimerService(alarm: alarm)
            let iterator = PreciseTimer.ticks(.every(.seconds(1)), on: service).makeAsyncIterator()
            alarm.move(by: .seconds(1))
            // The first reading begins the round.
            alarm.happen(before: 2) { [weak service] in service?.shutdown() }
            alarm.fire()
            #expect(!service.shutdown(), "it was shut down in between")
            withExtendedLifetime(iterator) {}
        }
        #expect(gone == nil, "the tick holds its alarm")
    }

    @Test func aTickThatWaitsWhenTheTimerEndsIsNotKept() throws {
        weak var gone: ManualAlarm?
        do {
            let alarm = ManualAlarm()
            gone = alarm
            let service = try TimerService(alarm: alarm)
            let iterator = PreciseTimer.ticks(.every(.seconds(1)), on: service).makeAsyncIterator()
            alarm.move(by: .seconds(1))
            alarm.fire()
            #expect(service.shutdown())
            withExtendedLifetime(iterator) {}
        }
        #expect(gone == nil, "the tick holds its alarm")
    }

    /// Round instants are shared; the first one from two seconds on is 2^31 nanoseconds.
    @Test func theTimerHasTheToleranceAndTheLabelOfTheSequence() throws {
        let ticks = PreciseTimer.ticks(
            .every(.seconds(1)),
            on: virtual.service,
            tolerance: .seconds(2),
            label: "polls"
        )
        let iterator = ticks.makeAsyncIterator()
        #expect(virtual.service.activeTimers.map(\.label) == ["polls"])
        #expect(virtual.nextDeadline == TimerInstant(nanoseconds: 1 << 31))
        withExtendedLifetime(iterator) {}
    }

    @Test func eachIterationHasItsOwnTimerThatEndsWithIt() throws {
        let sequence = PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service)
        #expect(virtual.pendingCount == 0, "nothing is scheduled yet")
        var iterators = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
        #expect(virtual.pendingCount == 2)
        iterators.removeLast()
        #expect(virtual.pendingCount == 1)
        iterators.removeAll()
        #expect(virtual.pendingCount == 0)
    }
}
