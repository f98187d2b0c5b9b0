import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

/// What other timers on Linux do, each as a fact that `Documentation/alternatives.md` names.
///
/// The suites run one after the other, since some count the threads and descriptors of the process.
@Suite(.serialized, .timeLimit(.minutes(1))) enum Alternatives {}

/// A value that handlers and a test share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    var now: Value { value.withLock { $0 } }

    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

/// An object with a timer whose handler uses the object: a view model, a connection.
///
/// `timer` is set before the timer can fire, and not used after that.
final class Owner: @unchecked Sendable {
    let calls = Shared(0)
    /// The timer, as an owner usually has it in a property.
    var timer: Any?

    func tick() { calls.change { $0 += 1 } }
}

/// A weak reference, to see whether its object is alive.
struct Weak: Sendable {
    weak let owner: Owner?
}

/// Nanoseconds of the clock that Dispatch, NIO and Swift's `SuspendingClock` use on Linux.
func uptime() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

/// The numbers of deadlines from `first` in steps of `period` that have passed at an instant.
func deadlinesPassed(at instant: UInt64, from first: UInt64, period: UInt64) -> UInt64 {
    instant < first ? 0 : (instant - first) / period + 1
}

/// Waits for a condition without an upper bound: the suite has one.
func wait(until condition: () -> Bool) {
    while !condition() { usleep(500) }
}

/// Runs the run loop of this thread until a condition holds.
func runLoop(until condition: () -> Bool) {
    while !condition() { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
}

/// The entries of a folder of /proc/self, such as its threads.
func count(of folder: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count
}

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
