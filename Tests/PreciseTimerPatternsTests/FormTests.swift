import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// The forms of a pattern's handler: each heeds its options and is called in its place, and the call is decided there.
struct FormTests {
    private let virtual = VirtualTime()
    private let targets = Targets()
    private let calls = Count()

    private var given: Given { Given(targets: targets, service: virtual.service) { [calls] in calls.add(1) } }

    private func subject(_ sample: Sample) throws -> any Subject { try sample.subject(given) }

    /// Lets time pass, so many calls arrive, and their handlers return: if no processor is free, a task may take longer
    /// than `advance` waits. A call that meets a running handler would come later.
    private func advance(_ seconds: Int, toCall count: Int, of subjects: any Subject...) async {
        await virtual.advance(by: .seconds(seconds))
        let timers = subjects.flatMap(\.timers)
        _ = await soon { calls.value >= count && timers.allSatisfy { $0.runningSince == nil } }
    }

    @Test(arguments: Sample.all) func eachFormHeedsItsOptions(sample: Sample) async throws {
        let place = Box<String>()
        var given = given
        given.called = { [calls] in
            place.value = Here.name
            calls.add(1)
        }
        (given.edge, given.longest, given.label) = (.leading, .seconds(20), "its label")
        (given.tolerance, given.deliver) = (.seconds(3), .queue(Here.queue("its queue")))
        let subject = try sample.subject(given)
        subject.call()
        let wait = virtual.nextDeadline.map { virtual.now.duration(to: $0) / .seconds(1) }
        let timers = virtual.service.activeTimers
        var facts = [
            "on": "\(timers.count)", "label": "\(timers.first?.label ?? "")",
            sample.pattern.isTimeouts ? "tolerance" : "edge tolerance": "\(wait ?? -1)",
        ]
        if !sample.pattern.isTimeouts {
            given.longest = .milliseconds(1)
            let refusal = #expect(throws: TimerError.self) { try sample.subject(given) }
            facts["longest"] = "\(refusal?.attempted.contains("1 ms at the longest") ?? false)"
        }
        await advance(4, toCall: 1, of: subject)
        if sample.form == .plain { facts["deliver"] = place.value }
        #expect(facts == sample.facts && calls.value == 1)
    }

    @Test(arguments: Sample.all)
    func eachFormIsCalledInItsPlaceOnceForABurstAndRetainsNoTarget(sample: Sample) async throws {
        let (stuck, seen, isTimeouts) = (SuspendedQueue(), Notes<String>(), sample.pattern.isTimeouts)
        defer { stuck.letRun() }
        weak var thing: Thing?
        weak var meter: Meter?
        let subject: any Subject
        do {
            var given = Given(targets: Targets(), service: virtual.service) { [virtual, calls] in
                seen.append("\(Here.name), \(virtual.pendingCount) timers")
                calls.add(1)
            }
            (thing, meter) = (given.targets.thing, given.targets.meter)
            // A handler of an actor runs there, wherever `deliver` says.
            if sample.form != .plain { given.deliver = .queue(stuck.queue) }
            subject = try sample.subject(given)
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
            #expect(await soon { !isTimeouts || subject.timers.isEmpty }, "nothing is kept of a key that has passed")
            // Another call waits while the targets are released.
            subject.call()
            withExtendedLifetime(given) {}
        }
        // The timer of a key has ended before the handler is called.
        let expected = "\(sample.form.place), \(isTimeouts ? 0 : 1) timers"
        #expect(seen.all == [expected, expected])
        #expect(await soon { thing == nil && meter == nil }, "the task of the last call may hold it for a moment")
        await virtual.advance(by: .seconds(2))
        #expect([calls.value, virtual.pendingCount] == [2, 0])
        #expect(!isTimeouts || subject.timers.isEmpty, "nothing is kept of its key")
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

    @Test(.waits("a handler awaits")) func callsThatComeWhileAHandlerAwaitsComeTogetherInTheNextOne() async throws {
        let (calls, isRunning, mayReturn) = (calls, Gate(), Gate())
        let save = try Debouncer(.seconds(1), on: virtual.service, target: targets.thing) { _ in
            calls.add(1)
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
}

extension FormTests {
    /// A pattern. The throttler has the initializers of the debouncer.
    enum Pattern: CaseIterable {
        case debouncer, leadingDebouncer, timeouts, timeoutsWithTick

        var isTimeouts: Bool { ![.debouncer, .leadingDebouncer].contains(self) }

        var forms: [Form] {
            switch self {
            case .debouncer, .timeouts: Form.allCases
            case .leadingDebouncer: [.plain, .mainActor, .actor]
            case .timeoutsWithTick: [.plain, .mainActor, .globalActor]
            }
        }
    }

    /// How a handler is written.
    enum Form: CaseIterable {
        case plain, awaiting, mainActor, mainActorAwaiting, globalActor, actor

        /// The actor on which the handler runs; nil if it has no actor.
        fileprivate func actor(of targets: Targets) -> (any Actor)? {
            switch self {
            case .plain, .awaiting: nil
            case .mainActor, .mainActorAwaiting: MainActor.shared
            case .globalActor: Database.shared
            case .actor: targets.meter
            }
        }

        /// Where the handler runs.
        fileprivate var place: String {
            switch self {
            case .plain, .awaiting: "pool"
            case .mainActor, .mainActorAwaiting: "main"
            case .globalActor: "database"
            case .actor: "meter"
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

        /// What is seen of the options of its initializer.
        var facts: [String: String] {
            var facts = ["on": "1", "label": "its label"]
            if form == .plain { facts["deliver"] = "its queue" }
            let timings = ["edge tolerance": "3.0", "longest": "true"]
            return facts.merging(pattern.isTimeouts ? ["tolerance": "4.0"] : timings) { $1 }
        }

        /// Its initializer.
        var row: FormRow {
            let deliver = [.plain, .mainActor, .globalActor].contains(form) ? "deliver:" : ""
            let handler = form == .actor ? "(isolated Target" : "@Sendable (Target"
            let rest = "tolerance:\(deliver)label:target:handler:)"
            if !pattern.isTimeouts {
                return FormRow("CallLimiter.init(_:edge:longest:on:\(rest)", handler, facts: facts)
            }
            let key = pattern == .timeouts ? ", Key)" : ", Key, PreciseTimer.Tick)"
            return FormRow("IdleTimeouts.init(on:\(rest)", handler + key, facts: facts)
        }
    }
}

/// What the initializers of patterns are given, and what their handlers call before they await.
private struct Given {
    let targets: Targets
    let service: TimerService
    var called: @Sendable () -> Void
    var edge: BurstEdge?
    var longest: Duration?
    var tolerance = Duration.zero
    var deliver = PreciseTimer.Delivery.inline
    var label: String?

    init(targets: Targets, service: TimerService, called: @escaping @Sendable () -> Void) {
        (self.targets, self.service, self.called) = (targets, service, called)
    }

    func debouncer(_ handler: @escaping @isolated(any) @Sendable (Thing) -> Void) throws -> Debouncer {
        try Debouncer(
            .seconds(1),
            edge: edge,
            longest: longest,
            on: service,
            tolerance: tolerance,
            deliver: deliver,
            label: label,
            target: targets.thing,
            handler: handler
        )
    }

    func awaiting(_ handler: @escaping @isolated(any) @Sendable (Thing) async -> Void) throws -> Debouncer {
        try Debouncer(
            .seconds(1),
            edge: edge,
            longest: longest,
            on: service,
            tolerance: tolerance,
            label: label,
            target: targets.thing,
            handler: handler
        )
    }

    func ofMeter(_ handler: @escaping @Sendable (isolated Meter) async -> Void) throws -> Debouncer {
        try Debouncer(
            .seconds(1),
            edge: edge,
            longest: longest,
            on: service,
            tolerance: tolerance,
            label: label,
            target: targets.meter,
            handler: handler
        )
    }

    func timeouts(_ handler: @escaping @isolated(any) @Sendable (Thing, Int) -> Void) -> IdleTimeouts<Int> {
        IdleTimeouts(
            on: service,
            tolerance: tolerance,
            deliver: deliver,
            label: label,
            target: targets.thing,
            handler: handler
        )
    }

    func timeoutsWithTick(
        _ handler: @escaping @isolated(any) @Sendable (Thing, Int, PreciseTimer.Tick) -> Void
    ) -> IdleTimeouts<Int> {
        IdleTimeouts(
            on: service,
            tolerance: tolerance,
            deliver: deliver,
            label: label,
            target: targets.thing,
            handler: handler
        )
    }

    func timeoutsAwaiting(
        _ handler: @escaping @isolated(any) @Sendable (Thing, Int) async -> Void
    ) -> IdleTimeouts<Int> {
        IdleTimeouts(on: service, tolerance: tolerance, label: label, target: targets.thing, handler: handler)
    }

    func timeoutsOfMeter(_ handler: @escaping @Sendable (isolated Meter, Int) async -> Void) -> IdleTimeouts<Int> {
        IdleTimeouts(on: service, tolerance: tolerance, label: label, target: targets.meter, handler: handler)
    }
}

extension FormTests.Sample {
    fileprivate func subject(_ given: Given) throws -> any Subject {
        var given = given
        let called = given.called
        if pattern == .leadingDebouncer { given.edge = .leading }
        return switch (pattern.isTimeouts, form) {
        case (false, .plain): try given.debouncer { _ in called() }
        case (false, .awaiting): try given.awaiting { _ in await yield(called) }
        case (false, .mainActor): try given.debouncer { @MainActor _ in called() }
        case (false, .mainActorAwaiting): try given.awaiting { @MainActor _ in await yield(called) }
        case (false, .globalActor): try given.debouncer { @Database _ in called() }
        case (false, .actor): try given.ofMeter { _ in await yield(called) }
        case (true, .plain) where pattern == .timeoutsWithTick: given.timeoutsWithTick { _, _, _ in called() }
        case (true, .mainActor) where pattern == .timeoutsWithTick:
            given.timeoutsWithTick { @MainActor _, _, _ in called() }
        case (true, .globalActor) where pattern == .timeoutsWithTick:
            given.timeoutsWithTick { @Database _, _, _ in called() }
        case (true, .plain): given.timeouts { _, _ in called() }
        case (true, .awaiting): given.timeoutsAwaiting { _, _ in await yield(called) }
        case (true, .mainActor): given.timeouts { @MainActor _, _ in called() }
        case (true, .mainActorAwaiting): given.timeoutsAwaiting { @MainActor _, _ in await yield(called) }
        case (true, .globalActor): given.timeouts { @Database _, _ in called() }
        case (true, .actor): given.timeoutsOfMeter { _, _ in await yield(called) }
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
    let meter = Meter()
}
