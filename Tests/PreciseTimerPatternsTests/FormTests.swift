import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// The forms of a pattern's handler: each is called in its place, and the call is decided there.
struct FormTests {
    private let virtual = VirtualTime()
    private let targets = Targets()
    private let calls = Count()

    private func subject(_ sample: Sample) throws -> Subject {
        try sample.subject(targets, on: virtual.service) { [calls] in calls.add(1) }
    }

    @Test(arguments: Sample.all) func eachFormIsCalledOnceForABurst(sample: Sample) async throws {
        let subject = try subject(sample)
        for _ in 1...3 { subject.call() }
        #expect(calls.value == 0, "nothing is called inside a call")
        await virtual.advance(by: .seconds(2))
        #expect(calls.value == 1)
        subject.call()
        await virtual.advance(by: .seconds(2))
        #expect(calls.value == 2)
    }

    @Test(arguments: Sample.plain) func aPlainHandlerIsCalledInPlace(sample: Sample) throws {
        let subject = try subject(sample)
        subject.call()
        virtual.advance(by: .seconds(1))
        #expect(calls.value == 1)
    }

    // MARK: Targets

    /// Lets a handler be called once, and leaves a second call waiting. The targets are released when this returns.
    private func callTwice(_ sample: Sample) async throws -> (Subject, Remains) {
        let targets = Targets()
        let subject = try sample.subject(targets, on: virtual.service) { [calls] in calls.add(1) }
        subject.call()
        await virtual.advance(by: .seconds(2))
        subject.call()
        return withExtendedLifetime(targets) { (subject, Remains(targets)) }
    }

    @Test(arguments: Sample.withTarget) func noFormRetainsItsTarget(sample: Sample) async throws {
        let (subject, remains) = try await callTwice(sample)
        #expect(await soon { remains.areGone }, "the task of the first call may hold it for a moment")
        await virtual.advance(by: .seconds(2))
        #expect(calls.value == 1 && virtual.pendingCount == 0)
        withExtendedLifetime(subject) {}
    }

    // MARK: Decisions

    /// Lets a tick come due while its handler's actor is busy, and changes something there before the handler can run.
    private func makeDue(
        _ subject: Subject,
        on actor: isolated any Actor,
        then change: @Sendable (Subject) -> Void
    ) {
        subject.call()
        virtual.advanceWithoutSettling(by: .seconds(1))
        // The tick has begun elsewhere, and waits for this actor. On the main actor, it begins there.
        if !(actor is MainActor) { #expect(eventually { subject.timers.contains { $0.runningSince != nil } }) }
        change(subject)
    }

    @Test(.waits("ticks wait for an actor"), arguments: Sample.isolated)
    func aCallThatIsDroppedOnTheActorBeforeItsHandlerRunsIsNotMade(sample: Sample) async throws {
        let (subject, actor) = (try subject(sample), try #require(sample.form.actor(of: targets)))
        await makeDue(subject, on: actor) { $0.drop() }
        await virtual.settle()
        await virtual.advance(by: .seconds(5))
        #expect(calls.value == 0)
        subject.call()
        await virtual.advance(by: .seconds(2))
        #expect(calls.value == 1, "the next call is the first of a burst")
    }

    @Test(.waits("ticks wait for an actor"), arguments: Sample.isolated.filter(\.pattern.isTimeouts))
    func aTimeoutThatIsRefreshedOnTheActorBeforeItsHandlerRunsIsPostponed(sample: Sample) async throws {
        let (subject, actor) = (try subject(sample), try #require(sample.form.actor(of: targets)))
        await makeDue(subject, on: actor) { $0.timeouts?.refresh(1, after: .seconds(5)) }
        await virtual.settle()
        await virtual.advance(by: .seconds(4))
        #expect(calls.value == 0 && subject.timeouts?.contains(1) == true)
        await virtual.advance(by: .seconds(1))
        #expect(calls.value == 1 && subject.timeouts?.count == 0)
    }

    @Test(.waits("ticks wait for an actor"), arguments: Sample.isolated.filter(\.pattern.isTimeouts))
    func aTimeoutThatIsPutOffForEverOnTheActorIsNotCalled(sample: Sample) async throws {
        let (subject, actor) = (try subject(sample), try #require(sample.form.actor(of: targets)))
        await makeDue(subject, on: actor) { $0.timeouts?.refresh(1, after: .seconds(Int64.max)) }
        await virtual.settle()
        #expect(calls.value == 0 && subject.timeouts?.contains(1) == true)
    }

    /// As a bag does it, or a service that is shut down.
    @Test(.waits("ticks wait for an actor"), arguments: Sample.isolated)
    func whatEndsOnTheActorBeforeItsHandlerRunsIsNotCalled(sample: Sample) async throws {
        let (subject, actor) = (try subject(sample), try #require(sample.form.actor(of: targets)))
        await makeDue(subject, on: actor) { for timer in $0.timers { timer.cancel() } }
        await virtual.settle()
        await virtual.advance(by: .seconds(5))
        #expect(calls.value == 0)
    }

    @Test(arguments: Sample.all.filter(\.pattern.isTimeouts))
    func aKeyIsForgottenBeforeItsHandlerRuns(sample: Sample) async throws {
        let (box, seen) = (Box<IdleTimeouts<Int>>(), Notes<Bool?>())
        let subject = try sample.subject(targets, on: virtual.service) { seen.append(box.value?.contains(1)) }
        box.value = subject.timeouts
        subject.call()
        await virtual.advance(by: .seconds(1))
        #expect(seen.all == [false])
        box.value = nil
    }

    @Test(.waits("a handler awaits")) func callsThatComeWhileAHandlerAwaitsComeTogetherInTheNextOne() async throws {
        let (calls, isRunning, mayReturn) = (calls, Gate(), Gate())
        let save = try Debouncer(.seconds(1), on: virtual.service, target: targets.store) { store in
            store.step { calls.add(1) }
            isRunning.open()
            await mayReturn.pass()
        }
        save()
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        for _ in 1...3 {
            save()
            virtual.advanceWithoutSettling(by: .seconds(2))
        }
        #expect(calls.value == 1)
        mayReturn.open()
        await virtual.advance(by: .seconds(2))
        #expect(calls.value == 2)
    }

    // MARK: Places

    /// `deliver` names a queue on which nothing runs.
    @Test func anIsolatedHandlerRunsOnItsActorWhereverDeliverSays() async throws {
        let (calls, service, stuck, model) = (calls, virtual.service, SuspendedQueue(), targets.model)
        defer { stuck.letRun() }
        let save = try Debouncer(.seconds(1), on: service, deliver: .queue(stuck.queue), target: model) {
            @MainActor model in
            model.step { calls.add(1) }
        }
        let draw = try Throttler(.seconds(1), on: service, deliver: .queue(stuck.queue), target: targets.ledger) {
            @Clerk ledger in
            ledger.step { calls.add(1) }
        }
        let timeouts = IdleTimeouts<Int>(on: service, deliver: .queue(stuck.queue), target: model) {
            @MainActor model, _ in
            model.step { calls.add(1) }
        }
        let others = IdleTimeouts<Int>(on: service, deliver: .queue(stuck.queue)) { @MainActor _ in
            model.step { calls.add(1) }
        }
        save()
        draw()
        timeouts.refresh(1, after: .seconds(1))
        others.refresh(1, after: .seconds(1))
        await virtual.advance(by: .seconds(1))
        #expect(calls.value == 4)
    }

    @Test func aHandlerValueIsCalledOnItsQueue() async throws {
        let (calls, queue, service) = (calls, targets.queue, virtual.service)
        let (one, two): (@Sendable (Thing) -> Void, @Sendable (Thing, Int) -> Void) = (
            { _ in queue.step { calls.add(1) } }, { _, _ in queue.step { calls.add(1) } }
        )
        let save = try Debouncer(
            .seconds(1),
            on: service,
            deliver: .queue(queue),
            target: targets.thing,
            handler: one
        )
        let timeouts = IdleTimeouts<Int>(on: service, deliver: .queue(queue), target: targets.thing, handler: two)
        save()
        timeouts.refresh(1, after: .seconds(1))
        await virtual.advance(by: .seconds(1))
        #expect(calls.value == 2)
    }

    @Test func aHandlerValueOfTheMainActorIsCalledThere() async throws {
        let (calls, service, model) = (calls, virtual.service, targets.model)
        let (one, two): (@MainActor @Sendable (Model) -> Void, @MainActor @Sendable (Model, Int) -> Void) = (
            { $0.step { calls.add(1) } }, { model, _ in model.step { calls.add(1) } }
        )
        let save = try Debouncer(.seconds(1), on: service, target: model, handler: one)
        let draw = try Throttler(.seconds(1), on: service, deliver: .mainActor, target: model, handler: one)
        let timeouts = IdleTimeouts<Int>(on: service, target: model, handler: two)
        save()
        draw()
        timeouts.refresh(1, after: .seconds(1))
        await virtual.advance(by: .seconds(1))
        #expect(calls.value == 3)
    }
}

extension FormTests {
    /// A pattern. A throttler calls its handler at the leading edge, and a debouncer at the trailing one.
    enum Pattern: CaseIterable {
        case debouncer, throttler, timeouts, timeoutsWithoutTarget

        var isTimeouts: Bool { self == .timeouts || self == .timeoutsWithoutTarget }
    }

    /// How a handler is written: in the call or, as a value, before it.
    enum Form: CaseIterable {
        case plain, value, queue, awaiting, mainActor, mainActorAwaiting, deliverMainActor
        case globalActor, globalActorAwaiting, actor, actorAwaiting

        static let withoutTarget: [Form] = [.plain, .value, .queue, .mainActor, .globalActor]

        /// The actor on which the handler runs; nil if it has no actor.
        fileprivate func actor(of targets: Targets) -> (any Actor)? {
            switch self {
            case .plain, .value, .queue, .awaiting: nil
            case .mainActor, .mainActorAwaiting, .deliverMainActor: MainActor.shared
            case .globalActor, .globalActorAwaiting: Clerk.shared
            case .actor, .actorAwaiting: targets.store
            }
        }
    }

    /// A pattern with a handler of a form.
    struct Sample: CustomTestStringConvertible {
        let pattern: Pattern
        let form: Form

        static let all = Pattern.allCases.flatMap { pattern in
            (pattern == .timeoutsWithoutTarget ? Form.withoutTarget : Form.allCases)
                .map { Sample(pattern: pattern, form: $0) }
        }
        static let withTarget = all.filter { $0.pattern != .timeoutsWithoutTarget }
        static let plain = all.filter { $0.form == .plain || $0.form == .value }
        static let isolated = all.filter { $0.form.actor(of: Targets()) != nil }

        var testDescription: String { "\(pattern), \(form)" }
    }
}

/// Makes what a sample says, with a function that each handler calls before it awaits.
extension FormTests.Sample {
    fileprivate typealias Called = @Sendable () -> Void

    fileprivate func subject(
        _ targets: Targets,
        on service: TimerService,
        _ called: @escaping Called
    ) throws -> Subject {
        switch pattern {
        case .debouncer: .limiter(try debouncer(targets, service, called))
        case .throttler: .limiter(try throttler(targets, service, called))
        case .timeouts: .timeouts(timeouts(targets, service, called))
        case .timeoutsWithoutTarget: .timeouts(timeoutsWithoutTarget(targets, service, called))
        }
    }

    private func debouncer(
        _ targets: Targets,
        _ service: TimerService,
        _ called: @escaping Called
    ) throws -> Debouncer {
        let (thing, model, ledger) = (targets.thing, targets.model, targets.ledger)
        let (store, queue) = (targets.store, targets.queue)
        switch form {
        case .plain: return try Debouncer(.seconds(1), on: service, target: thing) { _ in called() }
        case .value:
            let handler: @Sendable (Thing) -> Void = { _ in called() }
            return try Debouncer(.seconds(1), on: service, target: thing, handler: handler)
        case .queue:
            return try Debouncer(.seconds(1), on: service, deliver: .queue(queue), target: thing) { _ in
                queue.step(called)
            }
        case .awaiting:
            return try Debouncer(.seconds(1), on: service, target: thing) { _ in
                called()
                await Task.yield()
            }
        case .mainActor:
            return try Debouncer(.seconds(1), on: service, target: model) { @MainActor model in model.step(called) }
        case .mainActorAwaiting:
            return try Debouncer(.seconds(1), on: service, target: model) { @MainActor model in
                model.step(called)
                await Task.yield()
            }
        case .deliverMainActor:
            return try Debouncer(.seconds(1), on: service, deliver: .mainActor, target: model) { $0.step(called) }
        case .globalActor:
            return try Debouncer(.seconds(1), on: service, target: ledger) { @Clerk ledger in ledger.step(called) }
        case .globalActorAwaiting:
            return try Debouncer(.seconds(1), on: service, target: ledger) { @Clerk ledger in
                ledger.step(called)
                await Task.yield()
            }
        case .actor: return try Debouncer(.seconds(1), on: service, target: store) { store in store.step(called) }
        case .actorAwaiting:
            return try Debouncer(.seconds(1), on: service, target: store) { store in
                store.step(called)
                await Task.yield()
            }
        }
    }

    private func throttler(
        _ targets: Targets,
        _ service: TimerService,
        _ called: @escaping Called
    ) throws -> Throttler {
        let (thing, model, ledger) = (targets.thing, targets.model, targets.ledger)
        let (store, queue) = (targets.store, targets.queue)
        switch form {
        case .plain: return try Throttler(.seconds(1), edge: .leading, on: service, target: thing) { _ in called() }
        case .value:
            let handler: @Sendable (Thing) -> Void = { _ in called() }
            return try Throttler(.seconds(1), edge: .leading, on: service, target: thing, handler: handler)
        case .queue:
            return try Throttler(.seconds(1), edge: .leading, on: service, deliver: .queue(queue), target: thing) { _ in
                queue.step(called)
            }
        case .awaiting:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: thing) { _ in
                called()
                await Task.yield()
            }
        case .mainActor:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: model) { @MainActor model in
                model.step(called)
            }
        case .mainActorAwaiting:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: model) { @MainActor model in
                model.step(called)
                await Task.yield()
            }
        case .deliverMainActor:
            return try Throttler(.seconds(1), edge: .leading, on: service, deliver: .mainActor, target: model) {
                $0.step(called)
            }
        case .globalActor:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: ledger) { @Clerk ledger in
                ledger.step(called)
            }
        case .globalActorAwaiting:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: ledger) { @Clerk ledger in
                ledger.step(called)
                await Task.yield()
            }
        case .actor:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: store) { store in
                store.step(called)
            }
        case .actorAwaiting:
            return try Throttler(.seconds(1), edge: .leading, on: service, target: store) { store in
                store.step(called)
                await Task.yield()
            }
        }
    }

    private func timeouts(
        _ targets: Targets,
        _ service: TimerService,
        _ called: @escaping Called
    ) -> IdleTimeouts<Int> {
        let (thing, model, ledger) = (targets.thing, targets.model, targets.ledger)
        let (store, queue) = (targets.store, targets.queue)
        switch form {
        case .plain: return IdleTimeouts<Int>(on: service, target: thing) { _, _ in called() }
        case .value:
            let handler: @Sendable (Thing, Int) -> Void = { _, _ in called() }
            return IdleTimeouts<Int>(on: service, target: thing, handler: handler)
        case .queue:
            return IdleTimeouts<Int>(on: service, deliver: .queue(queue), target: thing) { _, _ in
                queue.step(called)
            }
        case .awaiting:
            return IdleTimeouts<Int>(on: service, target: thing) { _, _ in
                called()
                await Task.yield()
            }
        case .mainActor:
            return IdleTimeouts<Int>(on: service, target: model) { @MainActor model, _ in model.step(called) }
        case .mainActorAwaiting:
            return IdleTimeouts<Int>(on: service, target: model) { @MainActor model, _ in
                model.step(called)
                await Task.yield()
            }
        case .deliverMainActor:
            return IdleTimeouts<Int>(on: service, deliver: .mainActor, target: model) { model, _ in model.step(called) }
        case .globalActor:
            return IdleTimeouts<Int>(on: service, target: ledger) { @Clerk ledger, _ in ledger.step(called) }
        case .globalActorAwaiting:
            return IdleTimeouts<Int>(on: service, target: ledger) { @Clerk ledger, _ in
                ledger.step(called)
                await Task.yield()
            }
        case .actor: return IdleTimeouts<Int>(on: service, target: store) { store, _ in store.step(called) }
        case .actorAwaiting:
            return IdleTimeouts<Int>(on: service, target: store) { store, _ in
                store.step(called)
                await Task.yield()
            }
        }
    }

    private func timeoutsWithoutTarget(
        _ targets: Targets,
        _ service: TimerService,
        _ called: @escaping Called
    ) -> IdleTimeouts<Int> {
        let (model, ledger, queue) = (targets.model, targets.ledger, targets.queue)
        switch form {
        case .plain: return IdleTimeouts<Int>(on: service) { _ in called() }
        case .value:
            let handler: @Sendable (Int) -> Void = { _ in called() }
            return IdleTimeouts<Int>(on: service, handler: handler)
        case .queue: return IdleTimeouts<Int>(on: service, deliver: .queue(queue)) { _ in queue.step(called) }
        case .mainActor: return IdleTimeouts<Int>(on: service) { @MainActor _ in model.step(called) }
        case .globalActor: return IdleTimeouts<Int>(on: service) { @Clerk _ in ledger.step(called) }
        case .awaiting, .mainActorAwaiting, .deliverMainActor, .globalActorAwaiting, .actor, .actorAwaiting:
            preconditionFailure("there is no such form without a target")
        }
    }
}

/// A pattern in a test.
private enum Subject {
    case limiter(CallLimiter)
    case timeouts(IdleTimeouts<Int>)

    var timers: [PreciseTimer] {
        switch self {
        case .limiter(let limiter): limiter.timers
        case .timeouts(let timeouts): timeouts.timers
        }
    }

    var timeouts: IdleTimeouts<Int>? { if case .timeouts(let timeouts) = self { timeouts } else { nil } }

    /// A call, or a refresh of the key 1, for a second.
    func call() {
        switch self {
        case .limiter(let limiter): limiter()
        case .timeouts(let timeouts): timeouts.refresh(1, after: .seconds(1))
        }
    }

    /// Drops what waits.
    func drop() {
        switch self {
        case .limiter(let limiter): limiter.cancel()
        case .timeouts(let timeouts): timeouts.cancel(1)
        }
    }
}

/// The targets of all forms, and a queue. All but the thing assert that they are called in their place.
private struct Targets {
    let thing = Thing()
    let model = Model()
    let ledger = Ledger()
    let store = Store()
    let queue = DispatchQueue(label: "test.form")
}

/// The targets that are still alive.
private struct Remains {
    private weak let thing: Thing?
    private weak let model: Model?
    private weak let ledger: Ledger?
    private weak let store: Store?

    init(_ targets: Targets) {
        (thing, model, ledger, store) = (targets.thing, targets.model, targets.ledger, targets.store)
    }

    var areGone: Bool { thing == nil && model == nil && ledger == nil && store == nil }
}

extension DispatchQueue {
    fileprivate func step(_ called: () -> Void) {
        dispatchPrecondition(condition: .onQueue(self))
        called()
    }
}

@MainActor private final class Model {
    private var steps = 0

    nonisolated init() {}

    func step(_ called: () -> Void) {
        MainActor.assertIsolated()
        steps += 1
        called()
    }
}

@globalActor private actor Clerk {
    static let shared = Clerk()
}

@Clerk private final class Ledger {
    private var steps = 0

    nonisolated init() {}

    func step(_ called: () -> Void) {
        Clerk.assertIsolated()
        steps += 1
        called()
    }
}

private actor Store {
    private var steps = 0

    func step(_ called: () -> Void) {
        assertIsolated()
        steps += 1
        called()
    }
}
