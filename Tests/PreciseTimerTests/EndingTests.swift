import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Cancelling, releasing and ending, on virtual time.
struct EndingTests {
    private let virtual = VirtualTime()

    /// An object for a handler to capture, or for a timer to have as its target.
    private final class Thing: Sendable {}

    @Test func cancelReturnsTrueOnlyForTheCallThatEndedTheTimer() throws {
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: Thing()) { _, _ in }
        let target = Thing()
        let kept = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: target) { _, _ in }
        #expect(timer.state == .ended(.targetReleased), "its target was released")
        #expect(timer.cancel() == false)
        #expect(kept.state == .scheduled)
        #expect(kept.cancel())
        #expect(kept.cancel() == false)
        #expect(kept.state == .ended(.cancelled))
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0, "the service finds what nobody may cancel")
    }

    @Test func aTimerCancelledInItsHandlerDoesNotTickAgain() throws {
        let log = Log()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { timer, tick in
            log.note(tick)
            if tick.index == 2 { timer.cancel() }
        }
        virtual.advance(by: .seconds(10))
        #expect(log.count == 3)
        #expect(timer.state == .ended(.cancelled))
    }

    @Test func siblingsCancelledInTheSameBatchDoNotRun() throws {
        let ran = Notes<Int>()
        let timers = Box<[PreciseTimer]>()
        // The first cancels the second and the fourth, the third the fifth.
        let victims = [0: [1, 3], 2: [4]]
        timers.value = try (0..<5)
            .map { number in
                try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: ran) { ran, _ in
                    ran.append(number)
                    for victim in victims[number] ?? [] { timers.value?[victim].cancel() }
                }
            }
        virtual.advance(by: .seconds(1))
        #expect(ran.all == [0, 2])
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0, "the service finds what nobody may cancel")
        timers.value = nil
    }

    @Test func aCancelledSiblingsCapturesAreReleasedBeforeTheBatchEnds() throws {
        let target = Thing()
        let seen = Notes<Bool>()
        let sibling = Box<PreciseTimer>()
        let captured = WeakThing()
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: target) { _, _ in
            sibling.value?.cancel()
            seen.append(captured.thing == nil)
        }
        sibling.value = try {
            let thing = Thing()
            captured.thing = thing
            return try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: target) {
                [thing] _, _ in withExtendedLifetime(thing) {}
            }
        }()
        virtual.advance(by: .seconds(1))
        #expect(seen.all == [true])
    }

    @Test func aRunningHandlersCapturesAreReleasedWhenItReturns() throws {
        let target = Thing()
        let captured = WeakThing()
        let seen = Notes<Bool>()
        let timer = Box<PreciseTimer>()
        timer.value = try {
            let thing = Thing()
            captured.thing = thing
            return try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: target) {
                [thing] _, _ in
                timer.value?.cancel()
                seen.append(captured.thing === thing)
            }
        }()
        virtual.advance(by: .seconds(1))
        #expect(seen.all == [true], "still there while the handler runs")
        #expect(captured.thing == nil)
        timer.value = nil
    }

    @Test func aTimerDoesNotRetainItsTargetAndEndsWithIt() throws {
        let log = Log()
        var target: Thing? = Thing()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: try #require(target)) {
            log.note($1)
        }
        virtual.advance(by: .seconds(3))
        target = nil
        virtual.advance(by: .seconds(3))
        #expect(log.count == 3)
        #expect(timer.state == .ended(.targetReleased))
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0, "the service finds what nobody may cancel")
    }

    @Test func theHandleOfATimerWithATargetMayBeDropped() throws {
        let (target, log) = (Thing(), Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: target) { log.note($1) }
        virtual.advance(by: .seconds(3))
        #expect(log.count == 3)
        withExtendedLifetime(target) {}
    }

    @Test func aSingleDeadlineCompletesAfterItsHandler() throws {
        let states = Notes<PreciseTimer.State>()
        let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service) { timer, _ in
            states.append(timer.state)
        }
        virtual.advance(by: .seconds(1))
        #expect(states.all == [.scheduled])
        #expect(timer.state == .ended(.completed))
        #expect(timer.cancel() == false)
    }

    @Test func aTargetThatDiesInItsHandlerIsReleasedOnce() throws {
        let holder = Box<Thing>()
        let died = WeakThing()
        holder.value = Thing()
        died.thing = holder.value
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(holder.value)
        ) { _, _ in holder.value = nil }
        virtual.advance(by: .seconds(1))
        #expect(died.thing == nil)
        virtual.advance(by: .seconds(1))
        #expect(timer.state == .ended(.targetReleased))
    }

    /// A weak reference that can be handed around.
    private final class WeakThing: Sendable {
        private let content = Box<WeakReference>()

        var thing: Thing? {
            get { content.value?.thing }
            set { content.value = WeakReference(thing: newValue) }
        }

        private struct WeakReference: Sendable {
            weak let thing: Thing?
        }
    }
}

/// Ended timers leave nothing behind, even with a tick on its way.
@Suite(.waits("a queue is released by another thread"), .timeLimit(.minutes(60))) struct LeftoverTests {
    private let virtual = VirtualTime()

    // A tick on its way holds the service's alarm.
    @Test func iterationsThatEndWithAPendingTickLeaveNothingBehind() throws {
        weak var alarm: ManualAlarm?
        do {
            let manual = ManualAlarm()
            alarm = manual
            let service = try TimerService(alarm: manual)
            for _ in 0..<10 {
                let ticks = PreciseTimer.ticks(.every(.seconds(1)), on: service).makeAsyncIterator()
                manual.move(by: .seconds(1))
                manual.fire()
                withExtendedLifetime(ticks) {}
            }
            #expect(service.pendingCount == 0)
        }
        #expect(alarm == nil)
    }

    // The record of a timer holds its queue.
    @Test func timersCancelledOnTheWayToAQueueAreForgottenWithTheirHandle() async throws {
        weak var queue: DispatchQueue?
        do {
            let (serial, gate) = (DispatchQueue(label: "test.leftover"), Gate())
            queue = serial
            serial.async { gate.pass() }
            let timer = try PreciseTimer.schedule(
                .once(after: .seconds(1)),
                on: virtual.service,
                deliver: .queue(serial),
                target: gate
            ) { _, _ in }
            virtual.advanceWithoutSettling(by: .seconds(1))
            timer.cancel()
            gate.open()
        }
        #expect(await soon { queue == nil })
    }

    @Test func catchingUpWithManyDeadlinesStoresNoFutureTicks() throws {
        let (start, count) = (virtual.now, Count())
        virtual.jump(by: .seconds(100))
        try PreciseTimer.schedule(
            .every(.milliseconds(1), at: start),
            on: virtual.service,
            missedTicks: .catchUp(limit: .max),
            target: count
        ) { count, _ in count.add(1) }
        virtual.advance(by: .zero)
        #expect(count.value == 100_001)
    }
}
