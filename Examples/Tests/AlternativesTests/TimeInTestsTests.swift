import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOEmbedded
import Testing

/// The row "virtual time": whether an hour can pass in a test without waiting.
extension Alternatives {
    struct TimeInTestsTests {
        @Test func aDispatchTimerWaitsForTheKernelsClock() {
            let (start, fired) = (uptime(), Shared<UInt64?>(nil))
            let source = DispatchSource.makeTimerSource()
            source.schedule(deadline: DispatchTime(uptimeNanoseconds: start + 50_000_000))
            source.setEventHandler { fired.change { $0 = uptime() } }
            source.activate()
            wait { fired.now != nil }
            #expect(fired.now.map { $0 >= start + 50_000_000 } == true)
        }

        @Test func aRunLoopTimerWaitsForTheKernelsClockUnlessItIsFiredByHand() {
            let (start, fired) = (uptime(), Shared<[UInt64]>([]))
            let timer = Timer(fire: Date(timeIntervalSinceNow: 0.05), interval: 3_600, repeats: true) { _ in
                fired.change { $0.append(uptime()) }
            }
            RunLoop.current.add(timer, forMode: .default)
            let due = timer.fireDate
            timer.fire()
            #expect(fired.now.count == 1 && abs(timer.fireDate.timeIntervalSince(due)) < 0.01, "a call moves no time")
            runLoop { fired.now.count == 2 }
            timer.invalidate()
            // Foundation computes in seconds since 2001, as floating-point numbers.
            #expect(fired.now.last.map { $0 + 1_000_000 >= start + 50_000_000 } == true)
        }

        @Test func anAsyncTimerSequenceTakesAClockOfTheTest() async {
            let clock = StalledClock { _ in .zero }
            var ticks = AsyncTimerSequence(interval: .seconds(1), clock: clock).makeAsyncIterator()
            for _ in 0..<3_600 { _ = await ticks.next() }
            #expect(clock.now.offset == .seconds(3_600))
        }

        @Test func theEmbeddedEventLoopOfNIOAdvancesTimeByAnHourAtOnce() throws {
            let (loop, calls) = (EmbeddedEventLoop(), Shared(0))
            let task = loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
                calls.change { $0 += 1 }
            }
            loop.advanceTime(by: .hours(1))
            #expect(calls.now == 3_600)
            task.cancel()
            try loop.close()
        }
    }
}
