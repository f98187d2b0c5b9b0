import CLibevent
import Foundation
import Glibc
import PreciseTimer
import PreciseTimerPatterns
import Testing

/// The facts below the table: what a reader of the documentation would not expect.
extension Alternatives {
    struct SurpriseTests {
        @Test func aRunLoopTimerThatIsAddedByHandFiresAtOnce() {
            let calls = Shared(0)
            let timer = Timer(timeInterval: 3_600, repeats: true) { _ in calls.change { $0 += 1 } }
            #expect(timer.fireDate.timeIntervalSinceNow < 60, "its first date is that of its creation")
            RunLoop.current.add(timer, forMode: .default)
            runLoop { calls.now == 1 }
            #expect(timer.fireDate.timeIntervalSinceNow > 60, "the second one is an interval later")
            timer.invalidate()
        }

        @Test func aScheduledRunLoopTimerFiresAfterItsInterval() {
            let timer = Timer.scheduledTimer(withTimeInterval: 3_600, repeats: true) { _ in }
            #expect(timer.fireDate.timeIntervalSinceNow > 60)
            timer.invalidate()
        }

        @Test func aRunLoopTimerDropsItsTolerance() {
            let timers = [
                Timer(timeInterval: 10, repeats: true) { _ in },
                Timer.scheduledTimer(withTimeInterval: 10, repeats: true) { _ in },
            ]
            for timer in timers {
                timer.tolerance = 2
                #expect(timer.tolerance == 0)
                timer.invalidate()
            }
        }

        @Test func aCancelledSleepKeepsItsMemoryAndATimeOutDoesNot() async throws {
            // What earlier tests left free is used up first. If nothing is kept, this ends with the suite's limit.
            while try await residentBytes(of: { await raceWithSleep(on: .suspending) }) < 250 {}
            let ours: [(name: String, operation: () async -> Void)] = [
                ("withTimeout", { try? await withTimeout(.seconds(600)) { await Task.yield() } }),
                ("timer", { _ = try? PreciseTimer.schedule(.once(after: .seconds(600))) { _, _ in }.cancel() }),
                ("clock", { await raceWithSleep(on: TimerService.default.clock) }),
            ]
            for (name, operation) in ours {
                var least = Int.max
                for _ in 0..<3 { least = min(least, try await residentBytes(of: operation)) }
                #expect(least < 100, "\(name)")
            }
        }

        /// The usual time-out without this library, of an operation that ends in time.
        private func raceWithSleep(on clock: some Clock<Duration>) async {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await Task.sleep(for: .seconds(600), clock: clock) }
                group.addTask { await Task.yield() }
                await group.next()
                group.cancelAll()
            }
        }

        /// How many bytes of resident memory each of 20,000 operations leaves.
        private func residentBytes(of operation: () async -> Void) async throws -> Int {
            let (before, count) = (try resident(), 20_000)
            for _ in 0..<count { await operation() }
            return (try resident() - before) / count
        }

        private func resident() throws -> Int {
            let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try #require(Int(pages[1])) * sysconf(Int32(_SC_PAGESIZE))
        }

        /// A period of a millisecond. The kernel's timer interrupt comes every 4 ms with `CONFIG_HZ=250`.
        @Test func aLibeventBaseWithoutThePreciseFlagFiresOnceForEachTimerInterrupt() throws {
            guard let base = unsafe event_base_new() else { throw RefusedBase() }
            let calls = UnsafeMutablePointer<Int>.allocate(capacity: 1)
            unsafe calls.initialize(to: 0)
            let count: event_callback_fn = { unsafe $2?.assumingMemoryBound(to: Int.self).pointee += 1 }
            let event = unsafe event_new(base, -1, Int16(EV_PERSIST), count, calls)
            var period = timeval(tv_sec: 0, tv_usec: 1_000)
            let start = uptime()
            unsafe event_add(event, &period)
            while uptime() < start + 500_000_000 { _ = unsafe event_base_loop(base, EVLOOP_ONCE) }
            var step = timespec()
            unsafe clock_getres(CLOCK_MONOTONIC_COARSE, &step)
            let interrupts = Int(uptime() - start) / step.tv_nsec
            let called = unsafe calls.pointee
            #expect(called <= interrupts + 1)
            unsafe event_free(event)
            unsafe event_base_free(base)
            unsafe calls.deallocate()
        }
    }
}

private struct RefusedBase: Error {}
