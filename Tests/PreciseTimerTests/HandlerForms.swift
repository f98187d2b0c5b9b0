import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The forms of `schedule`, by the place of their handler.
enum HandlerForm: CaseIterable {
    // Its target is an object.
    case inline, queue, value, awaiting, main, mainAwaiting, database
    // Its target is an actor.
    case actor, actorAwaiting
    // Its target is its handle. A bare handler asks for nothing.
    case handle, handleQueue, handleMain, handleAwaiting, bare, bareQueue, bareMain

    /// Where the handler runs.
    var place: String {
        switch self {
        case .inline, .value, .handle, .bare: "inline"
        case .queue, .handleQueue, .bareQueue: "queue"
        case .awaiting, .handleAwaiting: "pool"
        case .main, .mainAwaiting, .handleMain, .bareMain: "main"
        case .database: "database"
        case .actor, .actorAwaiting: "meter"
        }
    }

    var isInTask: Bool { !["inline", "queue"].contains(place) }
    var isOfActor: Bool { place == "meter" }
    /// Where an `onError` without an annotation runs: where the handler ran, or, as any function that is isolated to no
    /// actor, in the pool.
    var placeOfError: String { isInTask && !isOfActor ? "pool" : place }

    var isOfHandle: Bool {
        [.handle, .handleQueue, .handleMain, .handleAwaiting, .bare, .bareQueue, .bareMain].contains(self)
    }
}

/// What is called for a timer of any form, and its other arguments. Nothing of it holds the timer or its target.
struct Callbacks: Sendable {
    let due: PreciseTimer.Schedule
    let service: TimerService
    var tolerance = Duration.zero
    var missedTicks = PreciseTimer.MissedTickPolicy.skip
    var label: String?
    var isPaused = false
    let run: @Sendable () throws -> Void
    /// An `onError`, and whether it is isolated to the main actor.
    let tell: (@Sendable (any Error) throws -> Void)?
    var tellsOnMain = false
    let end: (@isolated(any) @Sendable (PreciseTimer.EndReason) -> Void)?

    private typealias Tick = PreciseTimer.Tick
    private typealias OnError<Target> = @isolated(any) @Sendable (Target, any Error) throws -> Void
    private typealias AsyncOnError<Target> = @isolated(any) @Sendable (Target, any Error) async throws -> Void
    private typealias Handler<Target> = @isolated(any) @Sendable (Target, Tick) throws -> Void
    private typealias AsyncHandler<Target> = @isolated(any) @Sendable (Target, Tick) async throws -> Void

    private func fault<Target>() -> OnError<Target>? {
        guard let tell else { return nil }
        if tellsOnMain { return { @MainActor _, error in try tell(error) } }
        return { _, error in try tell(error) }
    }

    private func fault() -> (@Sendable (isolated Meter, any Error) throws -> Void)? {
        guard let tell else { return nil }
        return { _, error in try tell(error) }
    }

    private typealias Form<each Last> = (
        PreciseTimer.Schedule, TimerService, Duration, PreciseTimer.MissedTickPolicy, String?, Bool, StaticString, UInt,
        repeat each Last
    ) throws(TimerError) -> PreciseTimer

    /// Calls a form with the arguments of all forms and the last ones of its own.
    private func start<each Last>(_ form: Form<repeat each Last>, _ last: repeat each Last) throws -> PreciseTimer {
        try form(due, service, tolerance, missedTicks, label, isPaused, "File", 7, repeat each last)
    }

    private typealias DeliveringForm<each Last> = (
        PreciseTimer.Schedule, TimerService, Duration, PreciseTimer.MissedTickPolicy, PreciseTimer.Delivery, String?,
        Bool, StaticString, UInt, repeat each Last
    ) throws(TimerError) -> PreciseTimer

    /// The same for a form with a place.
    private func start<each Last>(
        in place: PreciseTimer.Delivery,
        _ form: DeliveringForm<repeat each Last>,
        _ last: repeat each Last
    ) throws -> PreciseTimer {
        try form(due, service, tolerance, missedTicks, place, label, isPaused, "File", 7, repeat each last)
    }

    /// Schedules a timer of a form.
    func begin(_ form: HandlerForm, _ thing: Thing, _ meter: Meter) throws -> PreciseTimer {
        let place = form.place == "queue" ? PreciseTimer.Delivery.queue(Here.queue("queue")) : .inline
        let (onError, onErrorOfHandle): (OnError<Thing>?, OnError<PreciseTimer>?) = (fault(), fault())
        let onErrorOfActor: (@Sendable (isolated Meter, any Error) throws -> Void)? = fault()
        switch form {
        case .inline, .queue:
            let handler: @Sendable (Thing, Tick) throws -> Void = { _, _ in try run() }
            return try start(in: place, PreciseTimer.schedule, thing, end, onError, handler)
        case .value, .main, .database:
            var handler: Handler<Thing> = { _, _ in try run() }
            if form == .main { handler = { @MainActor _, _ in try run() } }
            if form == .database { handler = { @Database _, _ in try run() } }
            return try start(PreciseTimer.schedule, thing, end, onError, handler)
        case .awaiting, .mainAwaiting:
            var handler: AsyncHandler<Thing> = { _, _ in try await runLater() }
            if form == .mainAwaiting { handler = { @MainActor _, _ in try await runLater() } }
            return try start(PreciseTimer.schedule, thing, end, onError as AsyncOnError<Thing>?, handler)
        case .actor:
            let handler: @Sendable (isolated Meter, Tick) throws -> Void = { _, _ in try run() }
            return try start(PreciseTimer.schedule, meter, end, onErrorOfActor, handler)
        case .actorAwaiting:
            let onError: (@Sendable (isolated Meter, any Error) async throws -> Void)? = onErrorOfActor
            let handler: @Sendable (isolated Meter, Tick) async throws -> Void = { _, _ in try await runLater() }
            return try start(PreciseTimer.schedule, meter, end, onError, handler)
        case .handle, .handleQueue, .handleMain:
            var handler: Handler<PreciseTimer> = { _, _ in try run() }
            if form == .handleMain { handler = { @MainActor _, _ in try run() } }
            return try start(in: place, PreciseTimer.schedule, end, onErrorOfHandle, handler)
        case .handleAwaiting:
            let handler: AsyncHandler<PreciseTimer> = { _, _ in try await runLater() }
            return try start(PreciseTimer.schedule, end, onErrorOfHandle as AsyncOnError<PreciseTimer>?, handler)
        case .bare, .bareQueue, .bareMain:
            var handler: @isolated(any) @Sendable () throws -> Void = { try run() }
            if form == .bareMain { handler = { @MainActor in try run() } }
            return try start(in: place, PreciseTimer.schedule, end, onErrorOfHandle, handler)
        }
    }

    /// In the caller's place, after others had it.
    private nonisolated(nonsending) func runLater() async throws {
        await Task.yield()
        try run()
    }
}

/// What happens to a timer, and what is heard of it.
struct Life: Sendable {
    enum Deed { case nothing, cancel, cancelAndWait, shutDown, fail, letGo, letGoAndSweep }
    enum Moment { case beforeTheTick, inTheHandler, besideTheHandler }
    /// An error of the handler.
    enum Fault { case bad, cancellation }
    /// What `onError` does.
    enum OnError { case isMissing, takes, takesOnMain, fails, failsOnMain, cancelsAndWaits }

    var deed = Deed.nothing
    var moment = Moment.beforeTheTick
    var isOnce = false
    var fault: Fault?
    var onError = OnError.isMissing
    var endsOnMain = false
    /// What is heard before the first tick, with it, with the second one, and when the timer is cancelled at last.
    let events: @Sendable (HandlerForm) -> [String]

    private struct Worse: Error {}

    /// An error whose words ask the service, which is not possible under its lock.
    private struct Bad: Error, CustomStringConvertible {
        let service: TimerService
        var description: String { service.activeTimers.count < 2 ? "Bad()" : "" }
    }

    /// Lets a timer of a form live. The task that moves the time is cancelled, and no timer has anything of that.
    func expectEvents(of form: HandlerForm) async throws {
        let (virtual, alarm, events, runs) = (VirtualTime(), RefusingAlarm(), Notes<String>(), Count())
        let service = deed == .fail ? try TimerService(alarm: alarm) : virtual.service
        let (timer, target) = (Box<PreciseTimer>(), Box<any AnyObject & Sendable>())
        let error: (any Error)? = fault.map { $0 == .bad ? Bad(service: service) as any Error : CancellationError() }
        // Its `deinit` uses the service: under the lock, that would end the process.
        @Sendable func thing(_ event: String?) -> Thing {
            Thing {
                _ = service.activeTimers
                if let event { events.append(event) }
            }
        }
        @Sendable func act() {
            switch deed {
            case .nothing: break
            case .cancel: #expect(timer.value?.cancel() == true)
            case .cancelAndWait: #expect(timer.value?.cancelAndWait() == true)
            case .shutDown: service.shutdown()
            case .fail: alarm.fail()
            case .letGo, .letGoAndSweep:
                if form.isOfHandle { timer.value = nil } else { target.value = nil }
                if deed == .letGoAndSweep { service.endTimersOfDeadTargets() }
            }
        }
        // The callbacks are released when this returns.
        func begin() throws {
            // The task of an `onError` that a timer does not wait for may hold what it captured for longer.
            let captured = thing(onError == .failsOnMain ? nil : "released")
            let (heard, life) = (thing("over"), self)
            let run: @Sendable () throws -> Void = {
                try withExtendedLifetime(captured) {
                    events.append("runs \(Here.name)")
                    if runs.add(1) > 1 { return }
                    if life.moment == .inTheHandler { act() }
                    if life.moment == .besideTheHandler {
                        try onThreads(1) { _ in act() }
                        // The thread that made the task may not yet have handed it over to be cancelled.
                        if form.isInTask { _ = eventually { Task.isCancelled } }
                    }
                    if form.isInTask, Task.isCancelled { events.append("is stopped") }
                    if let error { throw error }
                }
            }
            let tell: @Sendable (any Error) throws -> Void = { error in
                try withExtendedLifetime(captured) {
                    events.append("told \(error) \(Here.name)")
                    if life.onError == .cancelsAndWaits { #expect(timer.value?.cancelAndWait() == true) }
                    let isBeside = life.onError == .failsOnMain && !form.isInTask
                    // The thread that delivers the tick would call `onEnd`, too, until it is done.
                    if isBeside { _ = eventually { timer.value?.runningSince == nil } }
                    if life.onError == .fails || life.onError == .failsOnMain { throw Worse() }
                }
            }
            let note: @Sendable (PreciseTimer.EndReason) -> Void = { reason in
                withExtendedLifetime(heard) {
                    let isStopped = Task.isCancelled && form.isInTask && life.moment != .besideTheHandler
                    events.append("\(reason) \(Here.name)\(isStopped ? ", but stopped" : "")")
                }
            }
            let noteOnMain: @isolated(any) @Sendable (PreciseTimer.EndReason) -> Void = { @MainActor in note($0) }
            let callbacks = Callbacks(
                due: .every(.milliseconds(400), count: isOnce ? 1 : nil),
                service: service,
                run: run,
                tell: onError == .isMissing ? nil : tell,
                tellsOnMain: onError == .takesOnMain || onError == .failsOnMain,
                end: endsOnMain ? noteOnMain : note
            )
            let object = thing(form.isOfHandle || form.isOfActor ? nil : "target gone")
            let meter = Meter(thing(form.isOfActor ? "target gone" : nil))
            target.value = form.isOfActor ? meter : object
            timer.value = try callbacks.begin(form, object, meter)
            timer.value?.collectsStatistics = true
        }
        try await Here.$isInTest.withValue(true) {
            try begin()
            let expected = self.events(form)
            for stage in 0...3 {
                switch stage {
                case 0: if moment == .beforeTheTick { act() }
                case 3: timer.value?.cancel()
                default:
                    await Task {
                        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                        virtual.advanceWithoutSettling(by: .milliseconds(400))
                    }
                    .value
                }
                let heard = expected.prefix(stage + 1).filter { !$0.isEmpty }.joined(separator: ", ")
                _ = await soon {
                    let all = events.all.joined(separator: ", ")
                    return all == heard ? timer.value?.runningSince == nil : !heard.hasPrefix(all)
                }
                #expect(events.all.joined(separator: ", ") == heard)
                if let timer = timer.value, timer.state == .scheduled, stage > 0 {
                    #expect(timer.lastRun?.error == (stage == 1 ? error.map { "\($0)" } : nil))
                    #expect(timer.statistics?.ticks == runs.value)
                }
            }
            let all = events.all
            #expect(timer.value?.cancel() != true && service.pendingCount == 0)
            service.shutdown()
            await virtual.advance(by: .seconds(2))
            #expect(events.all == all, "each is heard once")
            (timer.value, target.value) = (nil, nil)
        }
    }
}
