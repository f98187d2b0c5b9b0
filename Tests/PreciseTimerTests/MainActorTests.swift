import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Handlers isolated to a global actor, such as the main actor, run on that actor without a `deliver`.
@Suite(.waits("the main thread runs the handlers"), .timeLimit(.minutes(60))) struct MainActorTests {
    private let virtual = VirtualTime()

    /// A view model, as a newcomer would write it.
    @MainActor private final class Model {
        private(set) var ticks: [PreciseTimer.Tick] = []
        private let place = Place(.mainActor)
        nonisolated let isOnMain = Notes<Bool>()

        nonisolated init() {}

        func refresh() { isOnMain.append(place.isHere) }

        func step(_ tick: PreciseTimer.Tick) {
            ticks.append(tick)
            refresh()
        }

        /// Schedules a timer from inside the view model.
        func startRefreshing(on service: TimerService) throws(TimerError) -> PreciseTimer {
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: self) { @MainActor model, _ in
                model.refresh()
            }
        }
    }

    @Test func deliverMainActorCallsAMethodOnTheMainActor() async throws {
        let model = Model()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, deliver: .mainActor, target: model) {
            $0.step($1)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { model.isOnMain.all.count == 1 })
        #expect(model.isOnMain.all == [true])
    }

    @Test func aMainActorHandlerRunsOnTheMainActor() async throws {
        let model = Model()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { @MainActor model, tick in
            model.step(tick)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { model.isOnMain.all.count == 1 })
        virtual.advanceWithoutSettling(by: .seconds(1))
        let hasTickedAgain = await soon {
            // The first delivery may end only now, after the second tick came due.
            virtual.advance(by: .zero)
            return model.isOnMain.all.count == 2
        }
        #expect(hasTickedAgain)
        #expect(model.isOnMain.all == [true, true])
        #expect(await model.ticks.map(\.index) == [0, 1])
    }

    @Test func aViewModelCanScheduleItsOwnHandler() async throws {
        let model = Model()
        let timer = try await model.startRefreshing(on: virtual.service)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { model.isOnMain.all.count == 1 })
        #expect(model.isOnMain.all == [true])
        #expect(timer.state == .scheduled)
    }

    @Test func aMainActorHandlerWithoutATargetGetsTheHandle() async throws {
        let (place, isOnMain) = (Place(.mainActor), Notes<Bool>())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { @MainActor timer, _ in
            isOnMain.append(place.isHere)
            timer.cancel()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { timer.state == .ended(.cancelled) })
        #expect(await soon { isOnMain.all == [true] })
    }

    @Test func aMainActorHandlerEndsWithItsHandle() async throws {
        let (count, reasons) = (Count(), Notes<PreciseTimer.EndReason>())
        var timer: PreciseTimer? = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            onEnd: reasons.append,
            handler: { @MainActor _, _ in count.add(1) }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { count.value == 1 })
        // The handler may still hold it for a moment.
        weak let gone = timer
        timer = nil
        #expect(await soon { gone == nil })
        #expect(await soon { reasons.all == [.handleReleased] })
    }

    @Test func aTargetOfTheMainActorIsNotRetained() async throws {
        let reasons = Notes<PreciseTimer.EndReason>()
        var model: Model? = Model()
        weak let gone = model
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(model),
            onEnd: reasons.append,
            handler: { @MainActor model, _ in model.refresh() }
        )
        model = nil
        #expect(gone == nil)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { reasons.all == [.targetReleased] })
        #expect(virtual.pendingCount == 0)
    }

    @Test func deliverMainActorDoesNotRetainItsTarget() throws {
        var model: Model? = Model()
        weak let gone = model
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .mainActor,
            target: try #require(model)
        ) { $0.step($1) }
        model = nil
        #expect(gone == nil)
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test func aTargetReleasedWhileTheMainActorIsBusyIsNotCalled() async throws {
        let (place, gate, count) = (Place(.mainActor), Gate(), Count())
        let reasons = Notes<PreciseTimer.EndReason>()
        var target: Thing? = Thing()
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(target),
            onEnd: reasons.append,
            handler: { @MainActor _, _ in count.add(1) }
        )
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .seconds(1))
        target = nil
        gate.open()
        #expect(await soon { reasons.all == [.targetReleased] })
        await place.settle()
        #expect(count.value == 0)
    }

    @Test func deadlinesMissedWhileTheMainActorIsBusyAreOneTick() async throws {
        let (model, place, gate) = (Model(), Place(.mainActor), Gate())
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: virtual.service,
            deliver: .mainActor,
            target: model
        ) { $0.step($1) }
        await place.block(until: gate)
        virtual.advanceWithoutSettling(by: .milliseconds(10))
        #expect(model.isOnMain.all.isEmpty)
        gate.open()
        #expect(await soon { model.isOnMain.all.count == 1 })
        await place.settle()
        #expect(await model.ticks.map(\.missed) == [9])
        #expect(await model.ticks.first?.hopLateness == .milliseconds(9))
        timer.cancel()
    }

    @Test func aMainActorTimerWaitsWhileItIsPaused() async throws {
        let (model, place) = (Model(), Place(.mainActor))
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .mainActor,
            paused: true,
            target: model
        ) { $0.step($1) }
        virtual.advanceWithoutSettling(by: .seconds(3))
        await place.settle()
        #expect(model.isOnMain.all.isEmpty)
        timer.resume()
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { model.isOnMain.all.count == 1 })
        #expect(await model.ticks.map(\.missed) == [0])
    }

    @Test func aTimerCancelledInItsMainActorHandlerNeverTicksAgainAndReleases() async throws {
        let (timer, place) = (Box<PreciseTimer>(), Place(.mainActor))
        let (target, count, released, waited) = (Log(), Count(), Count(), Notes<Bool>())
        var captured: Thing? = Thing { released.add(1) }
        timer.value = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: target,
            handler: { @MainActor [captured] _, _ in
                count.add(1)
                withExtendedLifetime(captured) {}
                // Inside its own handler this must not wait for the handler.
                let handle = timer.value
                waited.append(handle?.cancelAndWaitBlocking() == true)
            }
        )
        captured = nil
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { released.value == 1 })
        virtual.advanceWithoutSettling(by: .seconds(1))
        await place.settle()
        #expect(count.value == 1)
        #expect(waited.all == [true])
        #expect(timer.value?.state == .ended(.cancelled))
        timer.value = nil
    }

    @Test func aHandlerOfAnyGlobalActorRunsOnIt() async throws {
        let (target, isIsolated) = (Log(), Notes<Bool>())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: target) { @Other target, tick in
            Other.shared.preconditionIsolated()
            Other.count += 1
            target.note(tick)
            isIsolated.append(true)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { isIsolated.all == [true] })
        #expect(await Other.count == 1)
    }

    @Test func aHandlerValueThatIsIsolatedToNoActorRunsOnTheThreadPool() async throws {
        let (log, place) = (Log(), Place(.mainActor))
        let isOnMain = Notes<Bool>()
        let handler: @isolated(any) @Sendable (Log, PreciseTimer.Tick) -> Void = { log, tick in
            isOnMain.append(place.isHere)
            log.note(tick)
        }
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log, handler: handler)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { log.count == 1 })
        #expect(isOnMain.all == [false])
    }

    @Test func ordinaryHandlersStayOnTheAlarmsThread() throws {
        let (log, place) = (Log(), Place(.mainActor))
        let isOnMain = Notes<Bool>()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _, _ in
            isOnMain.append(place.isHere)
        }
        virtual.advance(by: .seconds(1))
        #expect(isOnMain.all == [false], "called before advance returned")
    }

    #if DEBUG
    @Test func aDebugBuildNamesTheTimerWhoseInlineHandlerAsksForTheMainActor() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let log = Log()
                try PreciseTimer.schedule(.every(.milliseconds(1)), label: "refresh", target: log) { log, tick in
                    MainActor.assumeIsolated { log.note(tick) }
                }
                _ = eventually { log.count > 0 }
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        let place = "\(#fileID):\(#line - 10)"
        #expect(said.contains("PreciseTimer: \(place): the handler of this timer (\"refresh\") asks for"))
        #expect(said.contains("pass `deliver: .mainActor`"))
    }

    @Test func aDebugBuildNamesTheTimerWhoseHandlerOnAQueueAsksForTheMainActor() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let (log, queue) = (Log(), DispatchQueue(label: "test"))
                try PreciseTimer.schedule(.every(.milliseconds(1)), deliver: .queue(queue), target: log) { log, tick in
                    MainActor.assumeIsolated { log.note(tick) }
                }
                _ = eventually { log.count > 0 }
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("PreciseTimer: \(#fileID):\(#line - 10): the handler of this timer asks for"))
    }

    /// The check needs no key for data of threads, of which a process has 1,024.
    @Test func aDebugBuildWithoutAKeyForThreadsTicks() async {
        await #expect(processExitsWith: .success) {
            var key = pthread_key_t()
            while unsafe pthread_key_create(&key, nil) == 0 {}
            // The key with the number 0 belongs to another library, which may have given it a value on this thread.
            let (log, values) = (Log(), Notes<UInt>())
            try PreciseTimer.schedule(.every(.milliseconds(1)), target: log) { log, tick in
                let isFree = unsafe pthread_getspecific(0) == nil
                if tick.index == 0, isFree { unsafe pthread_setspecific(0, UnsafeRawPointer(bitPattern: 4_096)) }
                unsafe values.append(UInt(bitPattern: pthread_getspecific(0)))
                log.note(tick)
            }
            #expect(eventually { log.count > 2 })
            #expect(Set(values.all).count == 1 && values.all.first != 0)
        }
    }

    @Test func aDebugBuildDoesNotWarnAboutAHandlerOnTheMainActor() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let (log, other) = (Log(), Log())
                try PreciseTimer.schedule(.every(.milliseconds(1)), deliver: .queue(.main), target: log) { log, tick in
                    MainActor.assumeIsolated { log.note(tick) }
                }
                try PreciseTimer.schedule(.every(.milliseconds(1)), deliver: .mainActor, target: other) { $0.note($1) }
                #expect(await soon { log.count > 0 && other.count > 0 })
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(!said.contains("asks for the main actor"))
    }
    #endif
}

@globalActor private actor Other {
    static let shared = Other()
    @Other static var count = 0
}

extension PreciseTimer {
    /// The blocking form, for an asynchronous context.
    fileprivate func cancelAndWaitBlocking() -> Bool { cancelAndWait() }
}
