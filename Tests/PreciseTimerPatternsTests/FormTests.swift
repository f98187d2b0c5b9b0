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

    private var called: @Sendable () -> Void { { [calls] in calls.add(1) } }

    private func subject(_ sample: Sample) throws -> any Subject {
        try sample.subject(targets, virtual.service, called)
    }

    /// Lets time pass, so many calls arrive, and their handlers return: if no processor is free, a task may take longer
    /// than `advance` waits. A call that meets a running handler would come later.
    private func advance(_ seconds: Int, toCall count: Int, of subjects: any Subject...) async {
        await virtual.advance(by: .seconds(seconds))
        let timers = subjects.flatMap(\.timers)
        _ = await soon { calls.value >= count && timers.allSatisfy { $0.runningSince == nil } }
    }

    @Test(arguments: Sample.all) func eachFormIsCalledInItsPlaceOnceForABurst(sample: Sample) async throws {
        let subject = try subject(sample)
        for former in 0...1 {
            for _ in 1...3 { subject.call() }
            let inTheCall = calls.value
            virtual.advanceWithoutSettling(by: .seconds(1))
            let atOnce = sample.form == .plain ? calls.value : former + 1
            await advance(1, toCall: former + 1, of: subject)
            #expect([inTheCall, atOnce, calls.value] == [former, former + 1, former + 1])
            // A handler that came late on a busy machine began a quiet time, in which a leading call would be lost.
            await virtual.advance(by: .seconds(2))
        }
    }

    // MARK: Targets

    /// Lets a handler be called once, and leaves a second call waiting. The targets are released when this returns.
    private func callTwice(_ sample: Sample) async throws -> (any Subject, Remains) {
        let targets = Targets()
        let subject = try sample.subject(targets, virtual.service, called)
        subject.call()
        await advance(2, toCall: 1, of: subject)
        subject.call()
        return withExtendedLifetime(targets) { (subject, Remains(targets)) }
    }

    @Test(arguments: Sample.all) func noFormRetainsItsTarget(sample: Sample) async throws {
        let (subject, remains) = try await callTwice(sample)
        #expect(await soon { remains.areGone }, "the task of the first call may hold it for a moment")
        await virtual.advance(by: .seconds(2))
        #expect([calls.value, virtual.pendingCount] == [1, 0])
        withExtendedLifetime(subject) {}
    }

    // MARK: Decisions

    /// What happens on the handler's actor before the handler can run there.
    enum Change: CaseIterable {
        /// As a bag does it, or a service that is shut down.
        case ends
        case isDropped, isPostponed, isPutOffForEver

        /// Those that are for the pattern.
        static func of(_ pattern: Pattern) -> [Change] { pattern.isTimeouts ? allCases : [.ends, .isDropped] }

        fileprivate func happen(to subject: any Subject) {
            let timeouts = subject as? IdleTimeouts<Int>
            switch self {
            case .ends: for timer in subject.timers { timer.cancel() }
            case .isDropped: subject.drop()
            case .isPostponed: timeouts?.refresh(1, after: .seconds(5))
            case .isPutOffForEver: timeouts?.refresh(1, after: .seconds(Int64.max))
            }
        }
    }

    /// Lets a tick come due while its handler's actor is busy, and changes something there before the handler can run.
    private func makeDue(_ subject: any Subject, on actor: isolated any Actor, then change: Change) {
        subject.call()
        virtual.advanceWithoutSettling(by: .seconds(1))
        // The tick has begun elsewhere, and waits for this actor. On the main actor it begins there: the pause is long
        // enough for one that does not.
        if actor is MainActor {
            pause(.milliseconds(5))
        } else {
            #expect(eventually { subject.timers.contains { $0.runningSince != nil } })
        }
        change.happen(to: subject)
    }

    @Test(
        .waits("ticks wait for an actor"),
        arguments: Sample.isolated.flatMap { sample in Change.of(sample.pattern).map { (sample, $0) } }
    )
    func aChangeOnTheActorBeforeTheHandlerRunsCounts(sample: Sample, change: Change) async throws {
        let (subject, actor) = (try subject(sample), try #require(sample.form.actor(of: targets)))
        await makeDue(subject, on: actor, then: change)
        await virtual.settle()
        let isSet = (subject as? IdleTimeouts<Int>)?.contains(1) ?? false
        #expect(isSet == [.isPostponed, .isPutOffForEver].contains(change))
        let hasEnded = change == .ends && !sample.pattern.isTimeouts
        let expected = change == .isPostponed ? [0, 0, 1, 2] : [0, 0, 0, hasEnded ? 0 : 1]
        var seen = [calls.value]
        for (place, seconds) in [4, 1].enumerated() {
            await advance(seconds, toCall: expected[place + 1], of: subject)
            seen.append(calls.value)
        }
        // The next call is the first of a burst.
        subject.call()
        await advance(2, toCall: expected[3])
        #expect(seen + [calls.value] == expected)
    }

    @Test(arguments: Sample.all.filter(\.pattern.isTimeouts))
    func aKeyAndItsTimerAreGoneBeforeTheHandlerIsCalled(sample: Sample) async throws {
        let (box, seen) = (Box<IdleTimeouts<Int>>(), Notes<[Int?]>())
        let subject = try sample.subject(targets, virtual.service) { [virtual] in
            seen.append([box.value?.count, box.value?.contains(1) == true ? 1 : 0, virtual.pendingCount])
        }
        box.value = subject as? IdleTimeouts<Int>
        subject.call()
        await virtual.advance(by: .seconds(1))
        #expect(await soon { !seen.all.isEmpty })
        #expect(seen.all == [[0, 0, 0]])
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
        await advance(2, toCall: 2)
        #expect(calls.value == 2)
    }

    // MARK: Places

    /// `deliver` names a queue on which nothing runs.
    @Test func anIsolatedHandlerRunsOnItsActorWhereverDeliverSays() async throws {
        let (service, stuck, thing, called) = (virtual.service, SuspendedQueue(), targets.thing, called)
        defer { stuck.letRun() }
        let elsewhere = PreciseTimer.Delivery.queue(stuck.queue)
        let save = try Debouncer(.seconds(1), on: service, deliver: elsewhere, target: thing) { @MainActor _ in
            onMain(called)
        }
        let draw = try Throttler(.seconds(1), on: service, deliver: elsewhere, target: thing) { @Clerk _ in
            onClerk(called)
        }
        let timeouts = IdleTimeouts<Int>(on: service, deliver: elsewhere, target: thing) { @MainActor _, _ in
            onMain(called)
        }
        #expect(await callsOfOne(save, draw, timeouts) == 3)
    }

    @Test func aHandlerValueIsCalledOnItsQueue() async throws {
        let (service, thing, called) = (virtual.service, targets.thing, called)
        let queue = DispatchQueue(label: "test.form")
        let onQueue: @Sendable () -> Void = {
            dispatchPrecondition(condition: .onQueue(queue))
            called()
        }
        let forTarget: @Sendable (Thing) -> Void = { _ in onQueue() }
        let forBoth: @Sendable (Thing, Int) -> Void = { _, _ in onQueue() }
        let save = try Debouncer(.seconds(1), on: service, deliver: .queue(queue), target: thing, handler: forTarget)
        let timeouts = IdleTimeouts<Int>(on: service, deliver: .queue(queue), target: thing, handler: forBoth)
        #expect(await callsOfOne(save, timeouts) == 2)
    }

    @Test func aHandlerValueOfTheMainActorIsCalledThere() async throws {
        let (service, thing, called) = (virtual.service, targets.thing, called)
        let forTarget: @MainActor @Sendable (Thing) -> Void = { _ in onMain(called) }
        let forBoth: @MainActor @Sendable (Thing, Int) -> Void = { _, _ in onMain(called) }
        let save = try Debouncer(.seconds(1), on: service, target: thing, handler: forTarget)
        let draw = try Throttler(.seconds(1), on: service, target: thing, handler: forTarget)
        let timeouts = IdleTimeouts<Int>(on: service, target: thing, handler: forBoth)
        #expect(await callsOfOne(save, draw, timeouts) == 3)
    }

    /// How many handlers are called for one call, or one time-out, of each.
    private func callsOfOne(_ patterns: any Subject...) async -> Int {
        for pattern in patterns { pattern.call() }
        await advance(1, toCall: patterns.count)
        return calls.value
    }
}

extension FormTests {
    /// A pattern. The throttler has the initializers of the debouncer.
    enum Pattern: CaseIterable {
        case debouncer, leadingDebouncer, timeouts, timeoutsWithTick

        var isTimeouts: Bool { ![.debouncer, .leadingDebouncer].contains(self) }

        var forms: [Form] {
            switch self {
            case .debouncer, .timeouts: Form.allCases
            case .leadingDebouncer: [.plain, .mainActor, .actorAwaiting]
            case .timeoutsWithTick: [.plain, .mainActor, .globalActor]
            }
        }
    }

    /// How a handler is written.
    enum Form: CaseIterable {
        case plain, awaiting, mainActor, mainActorAwaiting, globalActor, actor, actorAwaiting

        /// The actor on which the handler runs; nil if it has no actor.
        fileprivate func actor(of targets: Targets) -> (any Actor)? {
            switch self {
            case .plain, .awaiting: nil
            case .mainActor, .mainActorAwaiting: MainActor.shared
            case .globalActor: Clerk.shared
            case .actor, .actorAwaiting: targets.store
            }
        }
    }

    /// A pattern with a handler of a form.
    struct Sample: CustomTestStringConvertible {
        let pattern: Pattern
        let form: Form

        static let all = Pattern.allCases.flatMap { pattern in pattern.forms.map { Sample(pattern: pattern, form: $0) }
        }
        static let isolated = all.filter { $0.form.actor(of: Targets()) != nil }

        var testDescription: String { "\(pattern), \(form)" }
    }
}

/// Makes what a sample says, with a function that each handler calls before it awaits.
extension FormTests.Sample {
    fileprivate typealias Call = @Sendable () -> Void

    fileprivate func subject(_ its: Targets, _ service: TimerService, _ called: @escaping Call) throws -> any Subject {
        switch pattern {
        case .debouncer: try debouncer(its, service, .trailing, called)
        case .leadingDebouncer: try debouncer(its, service, .leading, called)
        case .timeouts: timeouts(its, service, called)
        case .timeoutsWithTick: timeoutsWithTick(its, service, called)
        }
    }

    private func debouncer(
        _ its: Targets,
        _ service: TimerService,
        _ edge: BurstEdge,
        _ called: @escaping Call
    ) throws -> Debouncer {
        let (second, thing, store) = (Duration.seconds(1), its.thing, its.store)
        return switch form {
        case .plain: try Debouncer(second, edge: edge, on: service, target: thing) { _ in called() }
        case .awaiting: try Debouncer(second, edge: edge, on: service, target: thing) { _ in await yield(called) }
        case .mainActor:
            try Debouncer(second, edge: edge, on: service, target: thing) { @MainActor _ in onMain(called) }
        case .mainActorAwaiting:
            try Debouncer(second, edge: edge, on: service, target: thing) { @MainActor _ in
                await yield { onMain(called) }
            }
        case .globalActor:
            try Debouncer(second, edge: edge, on: service, target: thing) { @Clerk _ in onClerk(called) }
        case .actor: try Debouncer(second, edge: edge, on: service, target: store) { store async in store.step(called) }
        case .actorAwaiting:
            try Debouncer(second, edge: edge, on: service, target: store) { store in
                await yield { store.step(called) }
            }
        }
    }

    private func timeouts(_ its: Targets, _ service: TimerService, _ called: @escaping Call) -> IdleTimeouts<Int> {
        let (thing, store) = (its.thing, its.store)
        return switch form {
        case .plain: IdleTimeouts(on: service, target: thing) { _, _ in called() }
        case .awaiting: IdleTimeouts(on: service, target: thing) { _, _ in await yield(called) }
        case .mainActor: IdleTimeouts(on: service, target: thing) { @MainActor _, _ in onMain(called) }
        case .mainActorAwaiting:
            IdleTimeouts(on: service, target: thing) { @MainActor _, _ in await yield { onMain(called) } }
        case .globalActor: IdleTimeouts(on: service, target: thing) { @Clerk _, _ in onClerk(called) }
        case .actor: IdleTimeouts(on: service, target: store) { store, _ async in store.step(called) }
        case .actorAwaiting: IdleTimeouts(on: service, target: store) { store, _ in await yield { store.step(called) } }
        }
    }

    private func timeoutsWithTick(
        _ its: Targets,
        _ service: TimerService,
        _ called: @escaping Call
    ) -> IdleTimeouts<Int> {
        switch form {
        case .mainActor: IdleTimeouts(on: service, target: its.thing) { @MainActor _, _, _ in onMain(called) }
        case .globalActor: IdleTimeouts(on: service, target: its.thing) { @Clerk _, _, _ in onClerk(called) }
        default: IdleTimeouts(on: service, target: its.thing) { _, _, _ in called() }
        }
    }
}

/// Does something, and then awaits.
private nonisolated(nonsending) func yield(_ body: () -> Void) async {
    body()
    await Task.yield()
}

/// A pattern in a test.
private protocol Subject: TimerHolder {
    /// A call, or a refresh of the key 1, for a second.
    func call()
    /// Drops what waits.
    func drop()
}

extension CallLimiter: Subject {
    fileprivate func call() { self() }
    fileprivate func drop() { cancel() }
}

extension IdleTimeouts: Subject where Key == Int {
    fileprivate func call() { refresh(1, after: .seconds(1)) }
    fileprivate func drop() { cancel(1) }
}

/// The targets of all forms.
private struct Targets {
    let thing = Thing()
    let store = Store()
}

/// The targets that are still alive.
private struct Remains {
    private weak let thing: Thing?
    private weak let store: Store?

    init(_ targets: Targets) { (thing, store) = (targets.thing, targets.store) }

    var areGone: Bool { thing == nil && store == nil }
}

@MainActor private func onMain(_ called: () -> Void) {
    MainActor.assertIsolated()
    called()
}

@globalActor private actor Clerk {
    static let shared = Clerk()
}

@Clerk private func onClerk(_ called: () -> Void) {
    Clerk.assertIsolated()
    called()
}

private actor Store {
    func step(_ called: () -> Void) {
        assertIsolated()
        called()
    }
}
