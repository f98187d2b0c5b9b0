import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Each public form passes on its arguments: a row gives all that may be left out another value than the default, and
/// sees their effect.
@Suite(.waits("queues, tasks and actors call handlers"), .timeLimit(.minutes(60))) struct FormTests {
    /// What a row sees, by the labels of the arguments that may be left out.
    typealias Facts = [String: String]

    struct Row: Sendable, CustomTestStringConvertible {
        let form: String
        /// A part of the declaration that other forms of this name lack.
        var part = "("
        let facts: Facts
        let see: @Sendable () async throws -> Facts

        var testDescription: String { "\(form) \(part)" }
    }

    private static let rows = schedulingRows + scheduleRows + callRows + valueRows + serviceRows

    @Test(arguments: rows) func everyArgumentHasItsEffect(row: Row) async throws {
        let facts = try await row.see()
        #expect(facts == row.facts)
    }

    @Test func noArgumentOfAFormIsLeftOut() throws {
        let rows = Self.rows.map { FormRow($0.form, $0.part, sees: Set($0.facts.keys)) }
        #expect(try flaws(of: rows, in: "PreciseTimer", except: Self.absent.map { FormRow($0, sees: []) }) == [])
    }

    /// The forms that this build cannot use.
    private static var absent: [String] {
        var forms: [String] = []
        #if !Libevent
        forms.append("TimerService.init(attachedTo:clock:)")
        #endif
        #if !RunLoop
        forms.append("TimerService.init(attachedTo:mode:)")
        #endif
        return forms
    }
}

// MARK: The forms of `schedule`

private let second = PreciseTimer.Schedule.every(.seconds(1))
private let late = Duration.milliseconds(250)
private let twice = PreciseTimer.MissedTickPolicy.catchUp(limit: 2)

extension FormTests {
    /// A form of `schedule`. Its handler always throws.
    private static func row(_ labels: String, _ part: String, _ form: HandlerForm) -> Row {
        let facts = [
            "on": "1", "tolerance": "0.25 seconds", "missedTicks": "2", "deliver": form.place, "label": "form",
            "paused": "paused", "place": "File:7", "onEnd": "[cancelled]", "onError": "Bad(), Bad()",
        ]
        let name = "schedule(_:on:tolerance:missedTicks:\(labels)onEnd:onError:handler:)"
        return Row(form: name, part: part, facts: facts) {
            try await Here.$isInTest.withValue(true) { try await Self.facts(of: form) }
        }
    }

    private struct Bad: Error {}

    /// Of five deadlines that pass at once, two have a tick of their own.
    private static func facts(of form: HandlerForm) async throws -> Facts {
        let (virtual, thing, meter) = (VirtualTime(), Thing(), Meter())
        let (places, errors, ends) = (Notes<String>(), Notes<String>(), Notes<PreciseTimer.EndReason>())
        let timer = try Callbacks(
            due: second,
            service: virtual.service,
            tolerance: late,
            missedTicks: twice,
            label: "form",
            isPaused: true,
            run: {
                places.append(Here.name)
                throw Bad()
            },
            tell: { errors.append("\($0)") },
            end: ends.append
        )
        .begin(form, thing, meter)
        let known = try #require(virtual.service.activeTimers.first)
        var facts = ["on": "\(virtual.pendingCount)", "paused": "\(timer.state)", "label": timer.label ?? "-"]
        facts["place"] = "\(known.file):\(known.line)"
        timer.resume()
        let (deadline, latest) = (try #require(timer.nextDeadline), try #require(virtual.nextDeadline))
        facts["tolerance"] = "\(deadline.duration(to: latest))"
        virtual.jump(by: .seconds(5))
        await virtual.settle()
        // If the machine held up a handler's thread for a second, settling has ended before the handler.
        _ = await soon { virtual.service.activity.tasks == 0 }
        facts["missedTicks"] = "\(places.all.count)"
        facts["deliver"] = Set(places.all).joined()
        facts["onError"] = errors.all.joined(separator: ", ")
        timer.cancel()
        facts["onEnd"] = "\(ends.all)"
        return withExtendedLifetime((thing, meter)) { facts }
    }

    private static let schedulingRows = [
        row("deliver:label:paused:target:", "Target : AnyObject", .queue),
        row("deliver:label:paused:", "(PreciseTimer, PreciseTimer.Tick) throws", .handleQueue),
        row("deliver:label:paused:", "(PreciseTimer, PreciseTimer.Tick) throws", .handleMain),
        row("deliver:label:paused:", "() throws", .bareQueue), row("deliver:label:paused:", "() throws", .bareMain),
        row("label:paused:target:", "@isolated(any) @Sendable (Target, PreciseTimer.Tick) throws", .value),
        row("label:paused:target:", "@isolated(any) @Sendable (Target, PreciseTimer.Tick) throws", .main),
        row("label:paused:target:", "(Target, PreciseTimer.Tick) async", .awaiting),
        row("label:paused:", "(PreciseTimer, PreciseTimer.Tick) async", .handleAwaiting),
        row("label:paused:target:", "(isolated Target, PreciseTimer.Tick) async", .actorAwaiting),
        row("label:paused:target:", "(isolated Target, PreciseTimer.Tick) throws", .actor),
    ]

    // MARK: Schedules

    /// What the ticks of a hundred seconds show of a schedule.
    private static func row(_ form: String, _ facts: Facts, _ schedule: PreciseTimer.Schedule) -> Row {
        Row(form: "Schedule.\(form)", facts: facts) {
            let scene = Scene(seed: 1)
            try scene.timer(schedule)
            scene.advance(100_000)
            let times = scene.log.ticks.map { scene.at(0).duration(to: $0.deadline) / .seconds(1) }
            let (first, count) = (try #require(times.first), "\(times.count)")
            let steps = Set(zip(times, times.dropFirst()).map { $1 - $0 })
            let all = [
                "after": "\(Int(first / 5) * 5)", "count": count, "for": count,
                "spread": "\(first * 1_000 != (first * 1_000).rounded())",
                "jitter": "\(steps.count > 1)",
            ]
            return all.filter { facts[$0.key] != nil }
        }
    }

    private static let few: Facts = ["count": "3", "spread": "true"]
    private static let fewLater = few.merging(["after": "25"]) { $1 }

    private static func seconds(_ number: Double) -> Duration { .seconds(number) }

    private static let scheduleRows = [
        row(
            "every(_:after:count:spread:jitter:for:)",
            fewLater,
            .every(seconds(10), after: seconds(25), count: 3, spread: seconds(4.9))
        ),
        row(
            "every(_:after:count:spread:jitter:for:)",
            ["jitter": "true", "for": "4"],
            .every(seconds(10), jitter: seconds(2), for: seconds(40))
        ),
        row("every(_:alignedTo:count:)", ["count": "3"], .every(seconds(7), alignedTo: Scene().at(0), count: 3)),
        row("every(_:at:count:spread:)", few, .every(seconds(7), at: Scene().at(5), count: 3, spread: seconds(9))),
        row("rate(_:per:count:spread:)", few, .rate(1, per: seconds(7), count: 3, spread: seconds(9))),
        row(
            "rate(_:per:at:count:spread:)",
            few,
            .rate(1, per: seconds(7), at: Scene().at(5), count: 3, spread: seconds(9))
        ),
        row(
            "fixedDelay(_:after:count:spread:)",
            fewLater,
            .fixedDelay(seconds(7), after: seconds(25), count: 3, spread: seconds(4.9))
        ),
        row("once(after:spread:)", ["spread": "true"], .once(after: seconds(7), spread: seconds(9))),
        Row(
            form: "Schedule.computed(_:on:hint:_:)",
            facts: ["_": "at nine", "on": "true", "hint": "true"],
            see: {
                let schedule = PreciseTimer.Schedule.computed("at nine", on: .wall, hint: "wait for ten") { _ in nil }
                let texts = try [Scene(), Scene(clock: .wall)]
                    .map { scene in
                        let error = #expect(throws: TimerError.self) { try scene.timer(schedule) }
                        return try #require(error).attempted
                    }
                let (other, own) = (texts[0].contains("`on: .wall`"), texts[1].contains("wait for ten"))
                return ["_": "\(schedule)", "on": "\(other)", "hint": "\(own)"]
            }
        ),
    ]

    // MARK: Calls

    private static let callRows = [
        Row(
            form: "ticks(_:on:tolerance:missedTicks:label:)",
            facts: ["on": "1", "tolerance": "1.25 seconds", "missedTicks": "[0, 3]", "label": "form File:7"],
            see: {
                let (virtual, start) = (VirtualTime(), VirtualTime().now)
                let ticks = PreciseTimer.ticks(
                    second,
                    on: virtual.service,
                    tolerance: late,
                    missedTicks: twice,
                    label: "form",
                    file: "File",
                    line: 7
                )
                var iterator = ticks.makeAsyncIterator()
                let known = try #require(virtual.service.activeTimers.first)
                let time = start.duration(to: try #require(virtual.nextDeadline))
                virtual.jump(by: .seconds(5))
                let missed = [try await iterator.next()?.missed, try await iterator.next()?.missed].compactMap(\.self)
                return [
                    "on": "\(virtual.pendingCount)", "tolerance": "\(time)", "missedTicks": "\(missed)",
                    "label": "\(known.label ?? "-") \(known.file):\(known.line)",
                ]
            }
        ),
        Row(form: "TimerServiceClock.sleep(until:tolerance:)", facts: ["tolerance": "1.25 seconds"]) {
            let (virtual, start) = (VirtualTime(), VirtualTime().now)
            let sleeper = Task {
                try await virtual.clock.sleep(until: start.advanced(by: .seconds(1)), tolerance: late)
            }
            #expect(await soon { virtual.pendingCount == 1 })
            defer { sleeper.cancel() }
            return ["tolerance": "\(start.duration(to: try #require(virtual.nextDeadline)))"]
        },
        Row(form: "PreciseTimer.pause(keeping:)", facts: ["keeping": "1000"]) {
            let scene = Scene()
            let timer = try scene.timer(second)
            timer.pause(keeping: .grid)
            return ["keeping": scene.time(timer.nextDeadline) ?? "-"]
        },
        Row(form: "PreciseTimer.finish(within:)", facts: ["within": "true"]) {
            try await finishing { timer in try await timer.finish(within: .milliseconds(1)) }
        },
        Row(form: "TimerBag.finishAll(within:)", facts: ["within": "true"]) {
            try await finishing { timer in
                let bag = TimerBag()
                timer.store(in: bag)
                try await bag.finishAll(within: .milliseconds(1))
            }
        },
        Row(form: "TimerHolder.store(in:named:)", facts: ["named": "true"]) {
            let (scene, bag) = (Scene(), TimerBag())
            let timer = try scene.timer(second).store(in: bag, named: "form")
            return ["named": "\(bag["form"] === timer)"]
        },
    ]

    /// Whether a call that finishes a timer ends in spite of its last tick, which cannot come: no time passes.
    private static func finishing(_ call: @escaping @Sendable (PreciseTimer) async throws -> Void) async throws -> Facts
    {
        let scene = Scene()
        let timer = try scene.timer(second)
        let finishing = Task.immediate { try await call(timer) }
        let isOver = await soon { timer.hasEnded }
        timer.cancel()
        let error = await #expect(throws: TimerError.self) { try await finishing.value }
        #expect(error?.code == .lastTickPending && scene.log.count == 0)
        return ["within": "\(isOver)"]
    }

    // MARK: Values

    /// An initializer whose arguments are properties of the value.
    private static func row(_ form: String, _ facts: Facts, of value: any Sendable) -> Row {
        Row(form: form, facts: facts) {
            let parts = Mirror(reflecting: value).children
                .compactMap { part in part.label.map { ($0, "\(part.value)") } }
            return Dictionary(uniqueKeysWithValues: parts).filter { facts[$0.key] != nil }
        }
    }

    private static func at(_ nanoseconds: UInt64) -> TimerInstant {
        TimerInstant(nanoseconds: nanoseconds, clock: .wall)
    }

    private static let tick = PreciseTimer.Tick(
        index: 7,
        deadline: at(1),
        latestDeadline: at(2),
        woke: at(3),
        delivered: at(4),
        missed: 5,
        isExtra: true
    )

    private static let options = TimerService.ThreadOptions(
        policy: .fifo(priority: 3),
        affinity: [4],
        timerSlack: .seconds(5),
        slice: .seconds(6),
        locksMemory: true,
        idleLatency: .seconds(7),
        name: "form",
        demand: .required
    )

    private static let valueRows = [
        row("TimerInstant.init(nanoseconds:clock:)", ["clock": "wall"], of: at(1)),
        row(
            "Tick.init(index:deadline:latestDeadline:woke:delivered:missed:isExtra:)",
            [
                "index": "7", "latestDeadline": "2 ns (wall)", "woke": "3 ns (wall)", "delivered": "4 ns (wall)",
                "missed": "5", "isExtra": "true",
            ],
            of: tick
        ),
        row(
            "TimerError.init(_:_:errno:systemMessage:)",
            ["errno": "Optional(5)", "systemMessage": "Optional(\"no luck\")"],
            of: TimerError(.systemRefused, "trying", errno: 5, systemMessage: "no luck")
        ),
        row(
            "SpinOptions.init(maximum:budget:)",
            ["maximum": "3.0 seconds", "budget": "0.5"],
            of: TimerService.SpinOptions(maximum: .seconds(3), budget: 0.5)
        ),
        row(
            "ThreadOptions.init(policy:affinity:timerSlack:slice:locksMemory:idleLatency:name:demand:)",
            [
                "policy": "fifo:3", "affinity": "[4]", "timerSlack": "Optional(5.0 seconds)",
                "slice": "Optional(6.0 seconds)", "locksMemory": "true", "idleLatency": "Optional(7.0 seconds)",
                "name": "Optional(\"form\")", "demand": "required",
            ],
            of: options
        ),
    ]

    // MARK: Services

    private static let serviceRows: [Row] = {
        let margin = "0.0003 seconds"
        var rows = [
            Row(
                form: "TimerService.init(_:clock:thread:spin:)",
                facts: ["clock": "wall", "thread": "form", "spin": margin],
                see: {
                    let spin = TimerService.SpinOptions(maximum: .microseconds(300))
                    let service = try TimerService(.hybrid, clock: .wall, thread: .init(name: "form"), spin: spin)
                    // A process with one processor does not spin.
                    let found = try #require(service.spin)
                    return [
                        "clock": "\(service.now.clock)", "thread": service.grant.items.first?.asked ?? "-",
                        "spin": found.obstacle == nil ? "\(found.margin)" : margin,
                    ]
                }
            ),
            Row(form: "TimerService.init(queue:clock:)", facts: ["clock": "wall"]) {
                ["clock": "\(try TimerService(queue: DispatchQueue(label: "form"), clock: .wall).now.clock)"]
            },
            Row(form: "TimerService.pollable(clock:)", facts: ["clock": "wall"]) {
                ["clock": "\(try TimerService.pollable(clock: .wall).service.now.clock)"]
            },
        ]
        #if Libevent
        rows.append(
            Row(form: "TimerService.init(attachedTo:clock:)", facts: ["clock": "wall"]) {
                let base = HostEventBase()
                let service = try unsafe TimerService(attachedTo: base.base, clock: .wall)
                defer {
                    service.shutdown()
                    base.runOnce()
                }
                return ["clock": "\(service.now.clock)"]
            }
        )
        #endif
        #if RunLoop
        rows.append(
            Row(form: "TimerService.init(attachedTo:mode:)", facts: ["mode": "[0, 1]"]) { try ticksInAMode() }
        )
        #endif
        return rows
    }()

    #if RunLoop
    /// The ticks after the loop ran in its default mode, and in that of the service.
    private static func ticksInAMode() throws -> Facts {
        let (loop, mode, log) = (RunLoop.current, RunLoop.Mode("form"), Log())
        let service = try TimerService(attachedTo: loop, mode: mode)
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { $0.note($1) }
        _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02))
        let counts = [log.count]
        while log.count == 0, loop.run(mode: mode, before: Date(timeIntervalSinceNow: 0.02)) {}
        service.shutdown()
        #expect(loop.run(mode: mode, before: .distantFuture) == false, "nothing is left in the loop")
        return ["mode": "\(counts + [log.count])"]
    }
    #endif
}
