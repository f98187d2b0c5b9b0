import Dispatch
import PreciseTimer
import TestSupport
import Testing

/// Control of timers whose deadlines are computed meets their deliveries, and the watch of the clock begins and ends.
@Suite(.works("threads race"), .timeLimit(.minutes(60))) struct ComputedRaceTests {
    private typealias Schedule = PreciseTimer.Schedule

    private static let rounds = Effort.of(2_000, thorough: 10_000)

    private static func inSteps(of step: Duration) -> Schedule { .computed { $0.advanced(by: step) } }

    @Test(arguments: [TimerClock.suspending, .wall])
    func computedTimersKeepTheirPromisesWhileThreadsControlThem(clock: TimerClock) async throws {
        let backend = TimerService.Backend.available.first { $0.clocks.contains(clock) }
        let service = try TimerService(try #require(backend), clock: clock)
        let (log, ends) = (Log(), Count())
        let timers = try (0..<4)
            .map { _ in
                try PreciseTimer.schedule(
                    Self.inSteps(of: .microseconds(100)),
                    on: service,
                    target: log,
                    onEnd: { _ in ends.add(1) },
                    handler: { $0.note($1) }
                )
            }
        #expect(await soon { log.count > 0 })
        try await onThreads(4) { thread in
            for round in 0..<Self.rounds {
                let timer = timers[(thread + round) % timers.count]
                switch (round * 7 + thread) % 6 {
                case 0: try? timer.reschedule(Self.inSteps(of: .microseconds(50)))
                case 1: try? timer.reschedule(.every(.microseconds(100)))
                case 2: timer.fire()
                case 3: timer.pause(keeping: .grid)
                case 4: timer.resume()
                default:
                    // The only one of its kind: the watch of the clock may begin and end with it.
                    let other = try? PreciseTimer.schedule(
                        Self.inSteps(of: .microseconds(20)),
                        on: service,
                        target: log
                    ) {
                        $0.note($1)
                    }
                    other?.cancel()
                }
            }
        }
        for timer in timers { _ = await timer.cancelAndWait() }
        let early = log.ticks.filter { $0.lateness < .zero }
        #expect(early.isEmpty)
        #expect(ends.value == timers.count)
        #expect(service.pendingCount == 0)
    }

    @Test func aTimerThatNothingDisturbsCountsEachDeadline() async throws {
        let (service, log, step) = (try TimerService(.timerFD), Log(), UInt64(200_000))
        let schedule = Schedule.computed { instant in
            TimerInstant(nanoseconds: (instant.nanoseconds / step + 1) * step, clock: instant.clock)
        }
        let timer = try PreciseTimer.schedule(schedule, on: service, deliver: .queue(.global()), target: log) {
            $0.note($1)
        }
        #expect(await soon { log.count >= 200 })
        await timer.cancelAndWait()
        let ticks = log.ticks
        let lost = zip(ticks, ticks.dropFirst())
            .filter { former, next in
                next.index != former.index + 1 + former.missed
                    || next.deadline.nanoseconds != former.deadline.nanoseconds + UInt64(former.missed + 1) * step
            }
        #expect(lost.count == 0)
    }
}
