import PreciseTimer
import PreciseTimerPatterns
import TestSupport
import Testing

extension ComingFromNSTimerTests {
    final class Model: Sendable {
        let log: Log

        init(_ log: Log) { self.log = log }

        func step(_ tick: PreciseTimer.Tick) { log.note(tick) }
    }
}

// MARK: Target and selector

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func aMethodIsCalledOnATargetThatIsNotRetained(ground: Ground) throws {
        let site = try ground.site()
        var model: Model? = Model(log)
        weak let released = model
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: site.service,
            target: try #require(model)
        ) { $0.step($1) }
        #expect(site.pass(.milliseconds(2)) { log.count >= 2 })
        if site.virtual != nil { #expect(log.ticks.map(\.index) == [0, 1]) }
        model = nil
        #expect(site.pass(.zero) { released == nil }, "a running handler lets it go")
        let count = log.count
        site.pass(.milliseconds(3))
        #expect(log.count == count)
        #expect(timer.state == .ended(.targetReleased))
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
    }
}

// MARK: Forwarding proxies

extension ComingFromNSTimerTests {
    /// The target is released while its tick is on its way to a queue: a proxy would forward to no object.
    @Test(arguments: Ground.all)
    func aTickOnItsWayToAReleasedTargetDoesNotCrash(ground: Ground) throws {
        let site = try ground.site()
        let (queue, inline) = (SuspendedQueue(), Log())
        let start = site.service.now.advanced(by: .milliseconds(1))
        var model: Model? = Model(log)
        weak let released = model
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), at: start),
            on: site.service,
            deliver: .queue(queue.queue),
            target: try #require(model)
        ) { $0.step($1) }
        // Ticks after the other timer: by then the tick is on its way.
        try PreciseTimer.schedule(.once(at: start), on: site.service, target: inline) { $0.note($1) }
        #expect(site.pass(.milliseconds(1)) { inline.count == 1 })
        model = nil
        #expect(site.pass(.zero) { released == nil })
        queue.letRun()
        #expect(log.count == 0)
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test func anAPIThatRetainsAProxyDoesNotRetainTheTarget() {
        final class Named: Sendable { let name = "model" }
        let notes = Notes<String>()
        var model: Named? = Named()
        weak let released = model
        let callback: () -> Void = {
            guard let model else { return {} }
            let proxy = WeakProxy(model)
            return { proxy { notes.append($0.name) } }
        }()
        callback()
        model = nil
        #expect(released == nil)
        callback()
        #expect(notes.all == ["model"])
    }
}

// MARK: Block categories

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func aHandlerReceivesItsTimerAndMayEndItByCounting(ground: Ground) throws {
        let site = try ground.site()
        let received = Box<PreciseTimer>()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: site.service) { [log] timer, tick in
            received.value = timer
            log.note(tick)
            if log.count == 3 { timer.cancel() }
        }
        #expect(site.pass(.milliseconds(10)) { timer.state == .ended(.cancelled) })
        site.pass(.milliseconds(5))
        #expect(received.value === timer)
        #expect(log.count == 3)
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
        received.value = nil
    }
}

// MARK: An object in between

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func aTimerEndsByItselfWhenItsTargetIsReleased(ground: Ground) throws {
        let site = try ground.site()
        let endings = Notes<PreciseTimer.EndReason>()
        var model: Model? = Model(log)
        try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: site.service,
            target: try #require(model),
            onEnd: endings.append
        ) { $0.step($1) }
        #expect(site.pass(.milliseconds(1)) { log.count >= 1 })
        #expect(endings.all == [])
        model = nil
        #expect(site.pass(.milliseconds(1)) { !endings.all.isEmpty })
        #expect(site.pass(.zero) { site.service.pendingCount == 0 })
        #expect(endings.all == [.targetReleased])
        #expect(site.service.nextWakeTime == nil)
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
    }

    @Test(arguments: Ground.all)
    func capturesReplaceUserInfoAndAreReleasedWithTheTimer(ground: Ground) throws {
        final class Info: Sendable { let name = "left" }
        let (site, notes) = (try ground.site(), Notes<String>())
        weak var released: Info?
        let timer = try {
            let info = Info()
            released = info
            return try PreciseTimer.schedule(.every(.milliseconds(1)), on: site.service, target: log) {
                [info] log, tick in
                notes.append("\(info.name) \(tick.index)")
                log.note(tick)
            }
        }()
        #expect(site.pass(.milliseconds(2)) { log.count >= 2 })
        if site.virtual != nil { #expect(notes.all == ["left 0", "left 1"]) }
        #expect(released != nil)
        timer.cancel()
        #expect(site.pass(.zero) { released == nil }, "a running handler lets them go")
        #expect(notes.all == log.ticks.map { "left \($0.index)" })
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
    }
}
