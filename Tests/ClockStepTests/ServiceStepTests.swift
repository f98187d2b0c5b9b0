import PreciseTimer
import TestSupport
import Testing

extension ClockStepTests {
    /// Timers on the wall clock during a step, and timers on the other clocks, which a step does not affect.
    @Suite(.serialized, .timeLimit(.minutes(60)), .enabled(if: WallClock.mayBeStepped, WallClock.whatItTakes))
    struct ServiceStepTests {
        typealias Backend = TimerService.Backend

        private static let withWallClock = Backend.available.filter { $0.clocks.contains(.wall) }

        @Test(arguments: withWallClock)
        func aTimerTicksIfAStepPassesItsDeadline(backend: Backend) throws {
            let (service, log) = (try TimerService(backend, clock: .wall), Log())
            let deadline = service.now.advanced(by: .seconds(1_800))
            try PreciseTimer.schedule(.once(at: deadline), on: service, target: log) { $0.note($1) }
            withClockStepped(by: .seconds(3_600)) {
                let hasTicked = eventually(within: WallClock.patience) { log.count == 1 }
                #expect(hasTicked)
            }
            #expect(log.ticks.map(\.deadline) == [deadline])
            #expect(log.ticks.allSatisfy { $0.lateness > .seconds(1_700) })
        }

        @Test(arguments: withWallClock)
        func aTimerWaitsIfAStepMovesItsDeadlineAway(backend: Backend) throws {
            let (service, log) = (try TimerService(backend, clock: .wall), Log())
            let deadline = service.now.advanced(by: .seconds(1))
            try PreciseTimer.schedule(.once(at: deadline), on: service, target: log) { $0.note($1) }
            withClockStepped(by: .seconds(-3_600)) {
                // It may have ticked before the step, if the step came late.
                let before = log.count
                pause(.milliseconds(1_200))
                #expect(log.count == before)
            }
            let hasTicked = eventually(within: WallClock.patience) { log.count == 1 }
            #expect(hasTicked)
            #expect(log.ticks.allSatisfy { $0.lateness >= .zero })
        }

        @Test(arguments: withWallClock)
        func aRepeatingTimerKeepsItsGridThroughAStep(backend: Backend) throws {
            let (service, log) = (try TimerService(backend, clock: .wall), Log())
            let start = service.now.advanced(by: .milliseconds(10))
            let timer = try PreciseTimer.schedule(.every(.milliseconds(10), at: start), on: service, target: log) {
                $0.note($1)
            }
            let hasBegun = eventually(within: WallClock.patience) { log.count >= 3 }
            withClockStepped(by: .seconds(3_600)) {
                let before = log.count
                let goesOn = eventually(within: WallClock.patience) { log.count >= before + 3 }
                #expect(goesOn)
            }
            timer.cancel()
            #expect(hasBegun)
            #expect(log.ticks.flaw(from: start, every: .milliseconds(10)) == nil)
            #expect(log.ticks.accounted >= 360_000, "the skipped hour is counted")
        }

        @Test(arguments: Backend.available)
        func aStepDoesNotAffectTimersOnOtherClocks(backend: Backend) throws {
            for clock in backend.clocks where clock != .wall {
                let (service, log) = (try TimerService(backend, clock: clock), Log())
                let start = service.now.advanced(by: .milliseconds(5))
                try PreciseTimer.schedule(.every(.milliseconds(5), at: start), on: service, target: log) { $0.note($1) }
                for distance in [Duration.seconds(3_600), .seconds(-3_600)] {
                    withClockStepped(by: distance) {
                        let before = log.count
                        let goesOn = eventually(within: WallClock.patience) { log.count >= before + 3 }
                        #expect(goesOn)
                    }
                }
                service.shutdown()
                let last = log.ticks.last.map { $0.index + $0.missed } ?? 0
                #expect(last < 100_000, "no skipped hour was counted, since at most minutes have passed")
            }
        }

        @Test func aStepBackBringsAComputedDeadlineBack() throws {
            let (service, log, hour) = (try TimerService(.timerFD, clock: .wall), Log(), UInt64(3_600_000_000_000))
            let hourly = PreciseTimer.Schedule.computed(on: .wall) { instant in
                TimerInstant(nanoseconds: (instant.nanoseconds / hour + 1) * hour, clock: .wall)
            }
            let timer = try PreciseTimer.schedule(hourly, on: service, target: log) { $0.note($1) }
            let deadline = try #require(timer.nextDeadline)
            var isBack = false
            withClockStepped(by: .seconds(-7_200)) {
                isBack = eventually(within: WallClock.patience) {
                    timer.nextDeadline.map { $0 <= deadline.advanced(by: .seconds(-7_200)) } ?? false
                }
            }
            #expect(isBack, "the timer does not wait for the former deadline")
            timer.cancel()
        }

        /// The steps there and back are told at once, and slewing or reading the clock is not a step.
        @Test func stepsOfTheClockAreTold() async throws {
            let service = try TimerService(.timerFD)
            let (steps, told) = (try service.clockSteps, Notes<TimerService.ClockStep>())
            let task = Task { for try await step in steps { told.append(step) } }
            let isTold = try await onOwnThread {
                var isTold = false
                withClockStepped(by: .seconds(3_600)) {
                    isTold = eventually(within: WallClock.patience) { !told.all.isEmpty }
                }
                guard isTold else { return false }
                return eventually(within: WallClock.patience) {
                    told.all.map(\.change).reduce(.zero, +).magnitude < .seconds(1)
                }
            }
            #expect(isTold)
            let first = try #require(told.all.first)
            #expect((first.change - .seconds(3_600)).magnitude < .seconds(1))
            #expect(first.at.clock == .wall)
            task.cancel()
            _ = await task.result
            service.shutdown()
        }
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
