import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The replacements for patterns around NSTimer, with a group for each section of the guide ComingFromNSTimer.
struct ComingFromNSTimerTests {
    let virtual = VirtualTime()
    let log = Log()
}

// MARK: Block form with ids

extension ComingFromNSTimerTests {
    @Test func oneCallTakesStartDelayPeriodAndQueue() throws {
        let (queue, start) = (DispatchQueue(label: "test.work"), virtual.now)
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let isOnQueue = Notes<Bool>()
        try PreciseTimer.schedule(
            .every(.seconds(2), after: .seconds(5)),
            on: virtual.service,
            deliver: .queue(queue),
            target: log
        ) { log, tick in
            isOnQueue.append(DispatchQueue.getSpecific(key: key) ?? false)
            log.note(tick)
        }
        for _ in 0..<9 {
            virtual.advance(by: .seconds(1))
            queue.sync {}
        }
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.seconds(5), .seconds(7), .seconds(9)])
        #expect(isOnQueue.all == [true, true, true])
    }

    @Test func aTimerWithoutRepetitionTicksOnce() throws {
        try PreciseTimer.schedule(.once(after: .seconds(5)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(60))
        #expect(log.count == 1)
        #expect(virtual.pendingCount == 0)
    }

    @Test(arguments: [
        (PreciseTimer.Schedule.once(after: .seconds(-1)), "a delay must not be negative"),
        (.every(.seconds(1), after: .seconds(-1)), "a delay must not be negative"),
        (.every(.zero), "a period must be longer than zero"),
        (.every(.seconds(-1)), "a period must be longer than zero"),
    ])
    func badInputThrowsATypedError(schedule: PreciseTimer.Schedule, reason: String) {
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        }
        #expect(error?.code == .invalidSchedule)
        #expect(error?.attempted.contains(reason) == true)
        #expect(virtual.pendingCount == 0)
    }

    /// If an id is the number of timers in a dictionary, it repeats: start two, cancel the first, start a third.
    @Test func aNewTimerNeverReplacesALiveOne() throws {
        let (first, second, third) = (Log(), Log(), Log())
        let cancelled = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: first) {
            $0.note($1)
        }
        let live = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: second) { $0.note($1) }
        cancelled.cancel()
        let new = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: third) { $0.note($1) }
        virtual.advance(by: .seconds(3))
        #expect(first.count == 0)
        #expect(second.count == 3)
        #expect(third.count == 3)
        #expect(new.cancel())
        #expect(live.state == .scheduled)
        virtual.advance(by: .seconds(1))
        #expect(second.count == 4)
        #expect(third.count == 3)
    }

    @Test func theHandleOfAnEndedTimerNeverReachesANewerOne() throws {
        var ended: [PreciseTimer] = []
        for generation in 0..<300 {
            // Every other handle is released, so that new timers take over their places.
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _, _ in }.cancel()
            let newest = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) {
                $0.note($1)
            }
            for old in ended {
                #expect(old.cancel() == false)
                #expect(old.state == .ended(.cancelled))
                old.pause()
                #expect(throws: TimerError.self) { try old.reschedule(.every(.seconds(9))) }
            }
            virtual.advance(by: .seconds(1))
            #expect(log.count == generation + 1)
            #expect(newest.cancel())
            ended.append(newest)
        }
        #expect(virtual.pendingCount == 0)
    }
}

// MARK: Target and selector

extension ComingFromNSTimerTests {
    final class Model: Sendable {
        let notes: Notes<String>

        init(_ notes: Notes<String>) { self.notes = notes }

        func step(_ tick: PreciseTimer.Tick) { notes.append("step \(tick.index)") }
    }

    @Test func aMethodIsCalledOnATargetThatIsNotRetained() throws {
        let notes = Notes<String>()
        var model: Model? = Model(notes)
        weak let released = model
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            calling: Model.step,
            target: try #require(model)
        )
        virtual.advance(by: .seconds(2))
        #expect(notes.all == ["step 0", "step 1"])
        model = nil
        #expect(released == nil)
        virtual.advance(by: .seconds(1))
        #expect(notes.all.count == 2)
        #expect(timer.state == .ended(.targetReleased))
    }
}

// MARK: Forwarding proxies

extension ComingFromNSTimerTests {
    /// The target is released while its tick is on its way to a queue: a proxy would forward to no object.
    @Test func aTickOnItsWayToAReleasedTargetDoesNotCrash() throws {
        let (queue, notes) = (SuspendedQueue(), Notes<String>())
        var model: Model? = Model(notes)
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .queue(queue.queue),
            target: try #require(model)
        ) { $0.step($1) }
        virtual.advance(by: .seconds(1))
        model = nil
        queue.letRun()
        #expect(notes.all == [])
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test func anAPIThatRetainsAProxyDoesNotRetainTheTarget() {
        let notes = Notes<String>()
        var model: Model? = Model(notes)
        weak let released = model
        let callback: () -> Void = {
            guard let model else { return {} }
            let proxy = WeakProxy(model)
            return { proxy { $0.notes.append("called") } }
        }()
        callback()
        model = nil
        #expect(released == nil)
        callback()
        #expect(notes.all == ["called"])
    }
}
