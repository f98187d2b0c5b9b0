import PreciseTimer
import TestSupport
import Testing

/// Races between the ends of timers and their ticks, on every kind of delivery. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct EndingRaceTests {
    /// On each of some threads.
    private static let rounds = Effort.of(1_000, thorough: 25_000, inDebug: 5_000)
    private static let fewRounds = rounds / 10

    /// The return of the handler of a fixed delay begins the next delay, also if the timer has ended meanwhile. The
    /// thread sanitizer sees whether a cancel reads what that changes.
    @Test(arguments: DeliveryKind.allCases, [false, true])
    func aCancelDuringDeliveryEndsTheTimerOnceAndReleasesItsHandler(kind: DeliveryKind, waits: Bool) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        try await race(4, Self.rounds) { number, round in
            let (ends, ticks, isOver, isFixedDelay) = (Count(), Count(), Box<Bool>(), round % 10 == 9)
            let after = Duration.microseconds(round % 2 == 0 ? (round + number) % 8 : (round * 7 + number * 13) % 60)
            var captured: Thing? = census.mortal
            weak let capture = captured
            let timer = try? place.schedule(
                isFixedDelay ? .fixedDelay(.microseconds(1), after: .zero) : .every(.microseconds(5), after: after),
                on: service,
                target: census,
                onEnd: { _ in
                    census.ends.add(1)
                    ends.add(1)
                },
                handler: { [captured] _ in
                    if isOver.value == true { census.wrong.add(1) }
                    ticks.add(1)
                    if isFixedDelay { pause(.microseconds((round + number) % 8)) }
                    withExtendedLifetime(captured) {}
                }
            )
            captured = nil
            if round % 3 == 0 { pause(.microseconds(round % 100)) }
            if isFixedDelay { ticks.awaitChange() }
            let hasCancelled = waits ? timer?.cancelAndWait() : timer?.cancel()
            if hasCancelled == true { census.cancels.add(1) }
            if waits {
                isOver.value = true
                if capture != nil || ends.value != 1 { census.wrong.add(1) }
            }
        }
        #expect(service.pendingCount == 0)
        await place.settle()
        #expect(census.cancels.value == 4 * Self.rounds, "only the cancels end these timers")
        #expect(await soon { [census.ends.value, census.deaths.value] == [4 * Self.rounds, 4 * Self.rounds] })
        #expect(census.wrong.value == 0, "a wait ended before the last handler, the release of its captures or `onEnd`")
    }

    @Test func aCancelThatWaitsReturnsAfterTheFarewellOfATimerWhoseActorIsGone() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        try await race(2, Self.rounds) { number, round in
            let ends = Count()
            // The actor is released at once.
            let timer = try? PreciseTimer.schedule(
                .once(after: .zero),
                on: service,
                target: Meter(),
                onEnd: { _ in ends.add(1) },
                handler: { meter, _ in meter.ticks += 1 }
            )
            pause(.microseconds((round + number) % 40))
            if timer?.cancelAndWait() == true, ends.value != 1 { census.wrong.add(1) }
        }
        #expect(census.wrong.value == 0, "the call returned before `onEnd` was called")
    }

    /// The thread that finalizes a timer reads the timer without the lock, so nobody may change a timer that has ended.
    @Test func aPausedTimerIsSetByOneThreadWhileAnotherEndsIt() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        for _ in 0..<Self.fewRounds {
            let timer = try PreciseTimer.schedule(
                .onDemand,
                on: service,
                target: census,
                onEnd: { _ in census.ends.add(1) },
                handler: { census, _ in census.ticks.add(1) }
            )
            timer.pause()
            try await race(2, 1) { number, _ in
                if number == 0 {
                    pause(.microseconds(20))
                    timer.cancel()
                } else {
                    for _ in 0..<100 { try? timer.reschedule(.once(at: service.now)) }
                }
            }
        }
        #expect([census.ends.value, census.ticks.value] == [Self.fewRounds, 0])
    }

    /// A debug build warns of a handle that is dropped before the first tick, and reads for that what the ticks write.
    @Test func aHandleThatIsDroppedDuringADeliveryEndsTheTimerOnce() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        try await race(2, Self.fewRounds) { number, round in
            var timer: PreciseTimer? = try? PreciseTimer.schedule(
                .every(.microseconds(5), after: .zero),
                on: service,
                onEnd: { _ in census.ends.add(1) },
                handler: { _, _ in census.ticks.add(1) }
            )
            let ticks = census.ticks.value
            while timer != nil, round % 2 == 0, census.ticks.value == ticks { pause(.microseconds(number + 1)) }
            timer = nil
        }
        // The delivery may have held the last reference.
        #expect(await soon { [census.ends.value, service.pendingCount] == [2 * Self.fewRounds, 0] })
        let ticks = census.ticks.value
        pause(.milliseconds(5))
        #expect(census.ticks.value == ticks)
    }

    @Test func aCancelReleasesTheHandlersCapturesWhileOtherThreadsReadTheTimer() async throws {
        let (service, census, isOver) = (try TimerService(.usual), Census(), Box<Bool>())
        let current = Box<PreciseTimer>()
        try await onThreads(3) { number in
            if number > 0 {
                while isOver.value == nil {
                    if number == 1 { _ = service.activeTimers } else { _ = current.value.map { ($0.state, $0.label) } }
                }
                return
            }
            for _ in 0..<Self.rounds {
                let before = census.deaths.value
                let timer = try? PreciseTimer.schedule(
                    .once(after: .seconds(3_600)),
                    on: service,
                    label: "far",
                    target: census,
                    onEnd: { _ in census.ends.add(1) },
                    handler: { [mortal = census.mortal] _, _ in withExtendedLifetime(mortal) {} }
                )
                current.value = timer
                timer?.cancel()
                if census.deaths.value != before + 1 { census.wrong.add(1) }
            }
            isOver.value = true
        }
        #expect(census.wrong.value == 0, "a reader retained the captures")
        #expect([census.deaths.value, census.ends.value] == [Self.rounds, Self.rounds])
    }

    @Test(arguments: DeliveryKind.allCases)
    func aTargetReleasedDuringDeliveryIsNotLeakedAndEndsItsTimerOnce(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        let onEnd = { @Sendable (reason: PreciseTimer.EndReason) in
            if reason == .targetReleased { census.ends.add(1) }
        }
        try await race(4, Self.fewRounds) { number, round in
            let after = Duration.microseconds((round + number) % 30)
            let schedule = PreciseTimer.Schedule.every(.microseconds(20), after: after)
            let target: any AnyObject & Sendable
            if kind == .actor {
                let meter = Meter(census.mortal)
                _ = try? PreciseTimer.schedule(schedule, on: service, target: meter, onEnd: onEnd) { meter, _ in
                    meter.ticks += 1
                    census.ticks.add(1)
                }
                target = meter
            } else {
                let mortal = census.mortal
                _ = try? place.schedule(schedule, on: service, target: mortal, onEnd: onEnd) { _ in
                    census.ticks.add(1)
                }
                target = mortal
            }
            // Usually about as long as a tick is on its way, and occasionally until a tick has arrived.
            withExtendedLifetime(target) {
                pause(.microseconds(round % 100))
                if round % 100 == 99 { census.ticks.awaitChange() }
            }
        }
        #expect(await soon { service.pendingCount == 0 })
        await place.settle()
        #expect(await soon { [census.deaths.value, census.ends.value] == [4 * Self.fewRounds, 4 * Self.fewRounds] })
        #expect(census.ticks.value > 0)
    }
}
