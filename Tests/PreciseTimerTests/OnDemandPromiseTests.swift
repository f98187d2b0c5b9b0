import PreciseTimer
import TestSupport
import Testing

/// A timer on demand keeps its promises on every backend and on virtual time, and ends like every other timer.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct OnDemandPromiseTests {
    private let log = Log()
    private let reasons = Notes<PreciseTimer.EndReason>()

    @Test(arguments: Ground.all)
    func aTimerOnDemandRestsAndTicksOnceForEachReschedule(ground: Ground) throws {
        let site = try ground.site()
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        site.pass(.milliseconds(5))
        #expect(log.count == 0)
        for round in 1...20 {
            let earliest = site.service.now.advanced(by: .microseconds(500))
            try timer.reschedule(.once(after: .microseconds(500)))
            #expect(site.until { log.count == round })
            #expect(timer.nextDeadline == nil)
            let tick = try #require(log.ticks.last)
            #expect(tick.deadline >= earliest && tick.flawInTime == nil)
        }
        site.pass(.milliseconds(5))
        #expect(log.count == 20)
        #expect(log.ticks.allSatisfy { $0.index == 0 && $0.missed == 0 })
        #expect(timer.state == .scheduled)
    }

    @Test(arguments: Ground.all)
    func aTimerThatIsPostponedAThousandTimesTicksOnce(ground: Ground) throws {
        let site = try ground.site()
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        for _ in 0..<1_000 { try timer.reschedule(.once(after: .seconds(3_600))) }
        let earliest = site.service.now.advanced(by: .milliseconds(2))
        try timer.reschedule(.once(after: .milliseconds(2)))
        #expect(site.until { log.count > 0 })
        site.pass(.milliseconds(5))
        #expect(log.count == 1)
        #expect(log.ticks.allSatisfy { $0.deadline >= earliest && $0.flawInTime == nil })
    }

    @Test(arguments: Ground.all)
    func reschedulingToOnDemandDiscardsAPendingDeadline(ground: Ground) throws {
        let site = try ground.site()
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        try timer.reschedule(.once(after: .milliseconds(20)))
        let deadline = timer.nextDeadline ?? site.service.now
        try timer.reschedule(.onDemand)
        // A busy machine may have let the deadline pass before.
        let isInTime = site.service.now < deadline
        site.pass(.milliseconds(40))
        #expect(log.count == 0 || !isInTime)
        #expect(timer.nextDeadline == nil)
        #expect(timer.state == .scheduled)
    }

    @Test(arguments: Ground.all)
    func aRescheduleByAnotherThreadWhileTheHandlerRunsTakesEffect(ground: Ground) throws {
        let site = try ground.site()
        let (entered, isSet) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { log, tick in
            log.note(tick)
            if log.count > 1 { return }
            entered.open()
            isSet.pass()
        }
        try timer.reschedule(.once(after: .milliseconds(1)))
        // On virtual time, handlers run on the thread that moves the time.
        try onThreads(2) { thread in
            if thread == 0 { return site.pass(.milliseconds(5)) }
            entered.pass()
            #expect(throws: Never.self) { try timer.reschedule(.once(after: .milliseconds(1))) }
            isSet.open()
        }
        #expect(site.until { log.count == 2 })
        site.pass(.milliseconds(5))
        #expect(log.ticks.map(\.index) == [0, 0])
        #expect(log.ticks.allSatisfy { $0.flawInTime == nil })
        #expect(timer.state == .scheduled)
        #expect(timer.nextDeadline == nil)
    }

    @Test(arguments: Ground.all)
    func theLastOfManyReschedulesIsServedAndNoDeadlineTwice(ground: Ground) throws {
        let site = try ground.site()
        let ends = reasons
        let timer = try PreciseTimer.schedule(
            .onDemand,
            on: site.service,
            target: log,
            onEnd: { ends.append($0) },
            handler: { $0.note($1) }
        )
        let delay = Duration.microseconds(100)
        var last = site.service.now
        for round in 0..<500 {
            last = site.service.now
            try timer.reschedule(.once(after: delay))
            // Before, at or after the deadline, so that the next reschedule meets the tick at each place on its way.
            if round % 3 > 0 { site.pass(.microseconds(round % 29 * 10)) }
        }
        #expect(site.until { log.ticks.last.map { $0.deadline >= last.advanced(by: delay) } ?? false })
        site.pass(.milliseconds(2))
        #expect(log.count <= 500)
        #expect(zip(log.ticks, log.ticks.dropFirst()).allSatisfy { $0.deadline < $1.deadline }, "no tick comes twice")
        #expect(log.ticks.allSatisfy { $0.index == 0 && $0.missed == 0 && $0.flawInTime == nil })
        #expect(timer.state == .scheduled)
        #expect(timer.nextDeadline == nil)
        #expect(reasons.all == [])
    }

    // MARK: Endings

    /// The ways to end a timer.
    enum Ending: CaseIterable {
        case cancel, shutdown, targetReleased, handleReleased

        var reason: PreciseTimer.EndReason {
            switch self {
            case .cancel: .cancelled
            case .shutdown: .serviceShutDown
            case .targetReleased: .targetReleased
            case .handleReleased: .handleReleased
            }
        }
    }

    @Test(arguments: Ground.all, Ending.allCases)
    func aRestingTimerEndsOnceAndReleasesItsHandlersCaptures(ground: Ground, ending: Ending) throws {
        let site = try ground.site()
        let (released, log) = (Count(), log)
        var target: Thing? = Thing()
        var timer: PreciseTimer? = try schedule(on: site.service, ending, target, Thing { released.add(1) })
        try timer?.reschedule(.once(after: .milliseconds(1)))
        #expect(site.until { log.count == 1 })
        site.pass(.milliseconds(2))
        #expect(released.value == 0 && reasons.all == [])

        switch ending {
        case .cancel: #expect(timer?.cancel() == true)
        case .shutdown: site.service.shutdown()
        case .targetReleased: target = nil
        case .handleReleased: timer = nil
        }
        #expect(site.until { !reasons.all.isEmpty })
        #expect(released.value == 1)
        #expect(site.service.pendingCount == 0)
        if let timer {
            #expect(timer.state == .ended(ending.reason))
            let error = #expect(throws: TimerError.self) { try timer.reschedule(.once(after: .zero)) }
            #expect(error?.code == .timerEnded)
            #expect(timer.fire() == false)
        }
        site.service.shutdown()
        #expect(reasons.all == [ending.reason])
        #expect(log.count == 1)
        withExtendedLifetime(target) {}
    }

    @Test func aRestingTimerKeepsItsServiceUntilItEnds() throws {
        weak var service: TimerService?
        var target: Thing? = Thing()
        do {
            let own = try TimerService(.usual)
            service = own
            try PreciseTimer.schedule(.onDemand, on: own, target: try #require(target)) { _, _ in }
        }
        pause(.milliseconds(20))
        #expect(service != nil)
        target = nil
        #expect(eventually { service == nil })
    }

    @Test func aRestingTimerEndsWhenItsBackendFails() throws {
        let alarm = RefusingAlarm(settings: .max)
        let service = try TimerService(alarm: alarm)
        let ends = reasons
        let timer = try PreciseTimer.schedule(
            .onDemand,
            on: service,
            target: log,
            onEnd: { ends.append($0) },
            handler: { $0.note($1) }
        )
        alarm.fail()
        #expect(reasons.all == [.backendFailed(RefusingAlarm.refusal)])
        #expect(timer.state == .ended(.backendFailed(RefusingAlarm.refusal)))
    }

    private func schedule(
        on service: TimerService,
        _ ending: Ending,
        _ target: Thing?,
        _ captured: Thing
    ) throws -> PreciseTimer {
        let (log, ends) = (log, reasons)
        if ending == .handleReleased {
            return try PreciseTimer.schedule(
                .onDemand,
                on: service,
                onEnd: { ends.append($0) },
                handler: { _, tick in withExtendedLifetime(captured) { log.note(tick) } }
            )
        }
        return try PreciseTimer.schedule(
            .onDemand,
            on: service,
            target: try #require(target),
            onEnd: { ends.append($0) },
            handler: { _, tick in withExtendedLifetime(captured) { log.note(tick) } }
        )
    }
}
