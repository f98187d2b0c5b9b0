import PreciseTimer
import Synchronization
import TestSupport
import Testing

/// Races between the ends of timers and their ticks, on every kind of delivery. The sanitizers run them, too.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct EndingRaceTests {
    /// On each of some threads.
    private static let rounds = Effort.of(2_000, thorough: 25_000, inDebug: 5_000)

    @Test(arguments: DeliveryKind.allCases)
    func aCancelDuringDeliveryEndsTheTimerOnceAndReleasesItsHandler(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        try await onThreads(4) { number in
            for round in 0..<Self.rounds {
                let captured = Mortal(census)
                let timer = try? place.schedule(
                    .every(.microseconds(5), after: .microseconds((round + number) % 8)),
                    on: service,
                    target: census,
                    onEnd: { _ in census.ends.add(1) },
                    handler: { [captured] _ in captured.touch() }
                )
                if round % 16 == 0 { pause(.microseconds(round % 40)) }
                if round == Self.rounds / 2 { census.touches.awaitChange() }
                if timer?.cancel() == true { census.cancels.add(1) }
            }
        }
        #expect(service.pendingCount == 0)
        await place.settle()
        #expect(census.cancels.value == 4 * Self.rounds, "only the cancels end these timers")
        #expect(await soon { census.ends.value == 4 * Self.rounds })
        #expect(await soon { census.deaths.value == 4 * Self.rounds })
        #expect(census.touches.value > 0)
    }

    /// The return of such a handler begins the next delay, also if the timer has ended meanwhile. The thread sanitizer
    /// sees whether a cancel reads what that changes.
    @Test(arguments: DeliveryKind.allCases)
    func aCancelWhileTheHandlerOfAFixedDelayReturnsEndsTheTimerOnce(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        let rounds = Self.rounds / 10
        try await onThreads(2) { number in
            for round in 0..<rounds {
                let touches = Count()
                let timer = try? place.schedule(
                    .fixedDelay(.microseconds(1), after: .zero),
                    on: service,
                    target: census,
                    onEnd: { _ in census.ends.add(1) },
                    handler: { _ in
                        touches.add(1)
                        pause(.microseconds((round + number) % 8))
                    }
                )
                touches.awaitChange()
                if timer?.cancel() == true { census.cancels.add(1) }
            }
        }
        #expect(census.cancels.value == 2 * rounds, "only the cancels end these timers")
        #expect(await soon { census.ends.value == 2 * rounds })
    }

    @Test(arguments: DeliveryKind.allCases)
    func aCancelThatWaitsReturnsAfterTheFarewellOfTheTimerItEnds(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        try await onThreads(2) { number in
            for round in 0..<Self.rounds {
                let ends = Count()
                var captured: Mortal? = Mortal(census)
                weak let capture = captured
                let timer = try? place.schedule(
                    .every(.microseconds(5), after: .zero),
                    on: service,
                    target: census,
                    onEnd: { _ in ends.add(1) },
                    handler: { [captured] _ in captured?.touch() }
                )
                captured = nil
                pause(.microseconds((round + number) % 40))
                if round == Self.rounds / 2 { census.touches.awaitChange() }
                guard timer?.cancelAndWait() == true else { continue }
                if capture != nil || ends.value != 1 { census.overlaps.add(1) }
            }
        }
        #expect(census.overlaps.value == 0, "the call returned before the captures were released and `onEnd` called")
        #expect(census.touches.value > 0)
    }

    @Test func aCancelThatWaitsReturnsAfterTheFarewellOfATimerWhoseActorIsGone() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        try await onThreads(2) { number in
            for round in 0..<Self.rounds {
                let ends = Count()
                // The actor is released at once.
                let timer = try? PreciseTimer.schedule(
                    .once(after: .zero),
                    on: service,
                    target: Meter(census),
                    onEnd: { _ in ends.add(1) },
                    handler: { meter, _ in meter.count() }
                )
                pause(.microseconds((round + number) % 40))
                if timer?.cancelAndWait() == true, ends.value != 1 { census.overlaps.add(1) }
            }
        }
        #expect(census.overlaps.value == 0, "the call returned before `onEnd` was called")
    }

    /// The thread that finalizes a timer reads the timer without the lock, so nobody may change a timer that has ended.
    @Test func aPausedTimerIsSetByOneThreadWhileAnotherEndsIt() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        for _ in 0..<Self.rounds / 10 {
            let timer = try PreciseTimer.schedule(
                .onDemand,
                on: service,
                target: census,
                onEnd: { _ in census.ends.add(1) },
                handler: { census, _ in census.touches.add(1) }
            )
            timer.pause()
            try await onThreads(2) { number in
                if number == 0 {
                    pause(.microseconds(20))
                    timer.cancel()
                } else {
                    for _ in 0..<100 { _ = timer.setUnlessFinishing(to: service.now) }
                }
            }
        }
        #expect(census.ends.value == Self.rounds / 10)
        #expect(census.touches.value == 0)
    }

    /// A debug build warns of a handle that is dropped before the first tick, and reads for that what the ticks write.
    @Test func aHandleThatIsDroppedDuringADeliveryEndsTheTimerOnce() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        try await onThreads(2) { number in
            for round in 0..<Self.rounds / 10 {
                var timer: PreciseTimer? = try? PreciseTimer.schedule(
                    .every(.microseconds(5), after: .zero),
                    on: service,
                    onEnd: { _ in census.ends.add(1) },
                    handler: { _, _ in census.touches.add(1) }
                )
                let touches = census.touches.value
                while timer != nil, round % 2 == 0, census.touches.value == touches { pause(.microseconds(number + 1)) }
                timer = nil
            }
        }
        #expect(await soon { census.ends.value == 2 * (Self.rounds / 10) })
        #expect(service.pendingCount == 0)
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
                let timer = try? Self.scheduleFarTimer(on: service, capturing: Mortal(census), census)
                current.value = timer
                timer?.cancel()
                if census.deaths.value != before + 1 { census.overlaps.add(1) }
            }
            isOver.value = true
        }
        #expect(census.overlaps.value == 0, "a reader retained the captures")
        #expect(census.deaths.value == Self.rounds)
        #expect(census.ends.value == Self.rounds)
    }

    private static func scheduleFarTimer(
        on service: TimerService,
        capturing captured: Mortal,
        _ census: Census
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(
            .once(after: .seconds(3_600)),
            on: service,
            label: "far",
            target: census,
            onEnd: { _ in census.ends.add(1) },
            handler: { _, _ in captured.touch() }
        )
    }

    @Test(arguments: DeliveryKind.allCases.filter { $0 != .actor })
    func aTargetReleasedDuringDeliveryEndsItsTimerOnce(kind: DeliveryKind) async throws {
        let (place, service, census) = (Place(kind), try TimerService(.usual), Census())
        let rounds = Self.rounds / 10
        try await onThreads(4) { number in
            for round in 0..<rounds {
                let target = Mortal(census)
                _ = try? place.schedule(
                    .every(.microseconds(20), after: .microseconds((round + number) % 30)),
                    on: service,
                    target: target,
                    onEnd: { if $0 == .targetReleased { census.ends.add(1) } },
                    handler: { _ in census.touches.add(1) }
                )
                withExtendedLifetime(target) { Self.live(round, census) }
            }
        }
        #expect(await soon { service.pendingCount == 0 })
        await place.settle()
        #expect(await soon { census.deaths.value == 4 * rounds })
        #expect(await soon { census.ends.value == 4 * rounds })
        #expect(census.touches.value > 0)
    }

    @Test func anActorReleasedWhileATickIsOnItsWayIsNeitherLeakedNorCalledAgain() async throws {
        let (service, census) = (try TimerService(.usual), Census())
        let rounds = Self.rounds / 10
        try await onThreads(4) { number in
            for round in 0..<rounds {
                let meter = Meter(census)
                _ = try? PreciseTimer.schedule(
                    .every(.microseconds(20), after: .microseconds((round + number) % 30)),
                    on: service,
                    target: meter,
                    onEnd: { if $0 == .targetReleased { census.ends.add(1) } },
                    handler: { meter, _ in meter.count() }
                )
                withExtendedLifetime(meter) { Self.live(round, census) }
            }
        }
        #expect(await soon { service.pendingCount == 0 })
        #expect(await soon { census.deaths.value == 4 * rounds })
        #expect(await soon { census.ends.value == 4 * rounds })
        #expect(census.touches.value > 0)
    }

    @Test(arguments: DeliveryKind.allCases)
    func theLastOfManyReschedulesWins(kind: DeliveryKind) async throws {
        let (place, service, census, log) = (Place(kind), try TimerService(.usual), Census(), Log())
        let timer = try place.schedule(
            .every(.microseconds(30)),
            on: service,
            target: census,
            onEnd: { _ in census.ends.add(1) },
            handler: { tick in
                if census.running.add(1) > 1 { census.overlaps.add(1) }
                log.note(tick)
                census.running.add(-1)
            }
        )
        try await onThreads(4) { number in
            for round in 0..<Effort.of(500, thorough: 2_500) {
                let delay = Duration.microseconds((round * 7 + number * 13) % 40)
                try? timer.reschedule(.every(.microseconds(20 + number), after: delay))
            }
        }
        let last = service.now.advanced(by: .milliseconds(2))
        try timer.reschedule(.once(at: last))
        #expect(await soon { census.ends.value == 1 })
        #expect(timer.state == .ended(.completed))
        await place.settle()
        #expect(log.ticks.last?.deadline == last)
        #expect(log.ticks.count { $0.deadline == last } == 1)
        #expect(census.overlaps.value == 0)
    }

    /// Usually keeps the target about as long as a tick is on its way, and occasionally until a tick has arrived.
    private static func live(_ round: Int, _ census: Census) {
        pause(.microseconds(round % 100))
        if round % 100 == 99 { census.touches.awaitChange() }
    }

    private final class Census: Sendable {
        let (cancels, ends, deaths, touches) = (Count(), Count(), Count(), Count())
        let (running, overlaps) = (Count(), Count())
    }

    /// A target, or an object that a handler captures. It records its deinit.
    private final class Mortal: Sendable {
        private let census: Census

        init(_ census: Census) { self.census = census }

        deinit { census.deaths.add(1) }

        func touch() { census.touches.add(1) }
    }

    private actor Meter {
        private let census: Census

        init(_ census: Census) { self.census = census }

        deinit { census.deaths.add(1) }

        func count() { census.touches.add(1) }
    }
}
