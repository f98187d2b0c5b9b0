#if ServiceLifecycle
import Logging
import PreciseTimer
import PreciseTimerLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
import TestSupport
import Testing

/// The end of a program's timers in a group of services.
@Suite(.waits("a shutdown by a signal, while timers tick"), .timeLimit(.minutes(60)))
final class LifecycleTests: Sendable {
    private let service: TimerService
    private let bag = TimerBag()
    private let log = Log()
    private let isInside = Gate()
    private let mayReturn = Gate()
    private let hasReturned = Gate()

    init() throws { service = try TimerService(.usual) }

    deinit {
        mayReturn.open()
        service.shutdown()
    }

    private func tick(every period: Duration = .milliseconds(1), for target: Log? = nil) throws -> PreciseTimer {
        try PreciseTimer.schedule(.every(period), on: service, target: target ?? log) { $0.note($1) }
    }

    /// A timer whose handler awaits until it may return.
    private func hang() async throws -> PreciseTimer {
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, label: "stuck", target: log) {
            [isInside, mayReturn, hasReturned] _, _ in
            isInside.open()
            await mayReturn.pass()
            hasReturned.open()
        }
        await isInside.pass()
        return timer
    }

    /// Runs a shutdown. Returns whether the handler that stays has returned before it.
    private func run(_ shutdown: TimerShutdown) async throws -> Bool {
        try await shutdown.run()
        return hasReturned.isPassable
    }

    @Test func aServiceEndsWithTheProgramAndWaitsForItsHandlers() async throws {
        let (timer, shutdown) = (try await hang(), try TimerShutdown(of: service))
        let hasReturned = try await testGracefulShutdown { trigger in
            async let hasReturned = run(shutdown)
            trigger.triggerGracefulShutdown()
            #expect(await soon { service.activeTimers.isEmpty })
            mayReturn.open()
            return try await hasReturned
        }
        #expect(hasReturned)
        #expect(timer.state == .ended(.serviceShutDown))
    }

    @Test func aGroupEndsTheTimersOfABagAndLeavesTheOthers() async throws {
        let other = Log()
        let (timer, remaining) = (try tick().store(in: bag), try tick(for: other))
        let group = ServiceGroup(services: [TimerShutdown(of: bag)], logger: Logger(label: "test"))
        async let running: Void = group.run()
        #expect(await soon { log.count > 2 })
        await group.triggerGracefulShutdown()
        try await running
        #expect([timer.state, remaining.state] == [.ended(.cancelled), .scheduled])
    }

    @Test func theEndOfABagWaitsForItsHandlers() async throws {
        try await hang().store(in: bag)
        let task = Task { try await run(TimerShutdown(of: bag)) }
        task.cancel()
        #expect(await soon { service.activeTimers.isEmpty })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(20))
        mayReturn.open()
        #expect(try await task.value)
    }

    /// Runs a shutdown in a task that is cancelled.
    private func cancel(_ shutdown: TimerShutdown) async throws {
        let task = Task { try await shutdown.run() }
        task.cancel()
        try await task.value
    }

    private typealias Make = @Sendable (TimerService, PreciseTimer) throws -> TimerShutdown

    private static let forms: [(name: String, part: String, make: Make)] = [
        ("TimerShutdown.init(of:within:)", "service", { service, _ in try TimerShutdown(of: service, within: limit) }),
        (
            "TimerShutdown.init(of:lastTick:within:)", "bag:",
            {
                let bag = TimerBag()
                $1.store(in: bag)
                return TimerShutdown(of: bag, lastTick: true, within: limit)
            }
        ),
        (
            "TimerShutdown.init(of:lastTick:within:)", "holder:",
            { TimerShutdown(of: $1, lastTick: true, within: limit) }
        ),
    ]

    private static let limit = Duration.milliseconds(20)

    private static func facts(_ part: String) -> [String: String] {
        let limit = ["within": "waiting 20 ms for the end of timer \"stuck\""]
        return part == "service" ? limit : limit.merging(["lastTick": "[true]"]) { $1 }
    }

    static var rows: [FormRow] { forms.map { FormRow($0.name, $0.part, facts: facts($0.part)) } }

    @Test(arguments: 0..<3) func eachFormHeedsItsOptions(place: Int) async throws {
        let (_, part, shutdown) = Self.forms[place]
        let timer = try tick(every: .seconds(3_600))
        if part != "service" { try await cancel(shutdown(service, timer)) }
        let stuck = try await hang()
        let error = await #expect(throws: TimerError.self) { try await cancel(shutdown(service, stuck)) }
        let named = (error?.attempted ?? "").prefix { $0 != "(" }.dropLast()
        let facts = ["within": "\(named)", "lastTick": "\(log.ticks.map(\.isExtra))"]
        #expect(facts.filter { Self.facts(part)[$0.key] != nil } == Self.facts(part) && timer.hasEnded)
    }

    /// A group cancels its services when its limit is over. The error names the timer, also without a limit of its own.
    @Test(arguments: [nil, Duration.seconds(3_600)], [false, true])
    func aHandlerThatNeverReturnsIsNamedAfterTheLimitOfTheGroup(limit: Duration?, isInBag: Bool) async throws {
        try await hang().store(in: bag)
        let shutdown = isInBag ? TimerShutdown(of: bag, within: limit) : try TimerShutdown(of: service, within: limit)
        var configuration = ServiceGroupConfiguration(services: [shutdown], logger: Logger(label: "test"))
        configuration.maximumGracefulShutdownDuration = .milliseconds(20)
        let group = ServiceGroup(configuration: configuration)
        await group.triggerGracefulShutdown()
        let error = await #expect(throws: TimerError.self) { try await group.run() }
        #expect(error?.code == .handlerRunning)
        #expect(error?.attempted.hasPrefix("waiting 1 s for the end of timer \"stuck\" (") == true)
        #expect(error?.attempted.contains("`within:` shorter than the group's maximumGracefulShutdownDuration") == true)
    }

    @Test func aShutdownThatIsCancelledAtOnceNamesTheHandler() async throws {
        let shutdown = TimerShutdown(of: try await hang())
        let error = await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            return await #expect(throws: TimerError.self) { try await cancel(shutdown) }
        }
        #expect(error?.code == .handlerRunning)
    }

    @Test func aSharedServiceIsRefused() {
        let error = #expect(throws: TimerError.self) { try TimerShutdown(of: .default) }
        #expect(error?.code == .invalidOption)
    }
}
#endif
