import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Ended timers leave nothing behind, even with a tick on its way.
@Suite(.timeLimit(.minutes(60))) struct LeftoverTests {
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
            virtual.advance(by: .seconds(1))
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
