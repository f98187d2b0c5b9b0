import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOEmbedded
import PreciseTimer
import Testing

/// The row "does not retain its target": an owner whose handler uses it, and whose last reference is dropped.
extension Alternatives {
    struct RetainTests {
        @Test func theOwnerOfADispatchTimerLivesUntilTheSourceIsCancelled() {
            let (owner, source) = Self.dispatchOwner()
            #expect(owner.owner != nil)
            source.cancel()
            // The source is still in a property of the owner, but no longer has its handler.
            wait { owner.owner == nil }
        }

        private static func dispatchOwner() -> (Weak, any DispatchSourceTimer) {
            let (owner, source) = (Owner(), DispatchSource.makeTimerSource())
            source.schedule(deadline: .distantFuture)
            source.setEventHandler { owner.tick() }
            source.activate()
            owner.timer = source
            return (Weak(owner: owner), source)
        }

        @Test func aDispatchTimerWithAWeakReferenceFiresOnWithoutItsTarget() {
            let calls = Shared(0)
            let source = DispatchSource.makeTimerSource()
            do {
                let owner = Owner()
                source.schedule(deadline: .now(), repeating: .milliseconds(1))
                source.setEventHandler { [weak owner] in calls.change { $0 += owner == nil ? 1 : 0 } }
            }
            source.activate()
            wait { calls.now >= 3 }
            source.cancel()
        }

        @Test func theTargetOfARunLoopTimerIsNotReleasedEvenAfterTheTimerIsInvalidated() {
            let owner: Weak
            do {
                let timer: Timer
                (owner, timer) = Self.runLoopOwner()
                runLoop { owner.owner.map { $0.calls.now >= 3 } ?? true }
                timer.invalidate()
            }
            let end = uptime() + 5_000_000
            runLoop { uptime() > end }
            #expect(owner.owner != nil, "Foundation on Linux now releases a timer's block")
        }

        /// The owner does not refer to the timer: there is no cycle.
        private static func runLoopOwner() -> (Weak, Timer) {
            let owner = Owner()
            let timer = Timer(fire: Date(), interval: 0.001, repeats: true) { _ in owner.tick() }
            RunLoop.current.add(timer, forMode: .default)
            return (Weak(owner: owner), timer)
        }

        @Test func aRunLoopTimerWithAWeakReferenceFiresOnWithoutItsTarget() {
            let calls = Shared(0)
            let timer: Timer
            do {
                let owner = Owner()
                timer = Timer(fire: Date(), interval: 0.001, repeats: true) { [weak owner] _ in
                    calls.change { $0 += owner == nil ? 1 : 0 }
                }
            }
            RunLoop.current.add(timer, forMode: .default)
            runLoop { calls.now >= 3 }
            timer.invalidate()
        }

        @Test func theOwnerOfAnAsyncTimerSequencesTaskLivesUntilTheTaskEnds() async {
            let (owner, task) = Self.taskOwner { owner in
                for await _ in AsyncTimerSequence(interval: .seconds(3_600), clock: .suspending) { owner.tick() }
            }
            #expect(owner.owner != nil)
            task.cancel()
            await task.value
            #expect(owner.owner == nil)
        }

        private static func taskOwner(
            body: @escaping @Sendable (Owner) async -> Void
        ) -> (Weak, Task<Void, Never>) {
            let owner = Owner()
            let task = Task { await body(owner) }
            owner.timer = task
            return (Weak(owner: owner), task)
        }

        @Test func anAsyncTimerSequenceWithAWeakReferenceTicksOnWithoutItsTarget() async {
            let calls = Shared(0)
            let task: Task<Void, Never>
            do {
                let owner = Owner()
                task = Task { [weak owner] in
                    for await _ in AsyncTimerSequence(interval: .milliseconds(1), clock: .suspending) {
                        calls.change { $0 += owner == nil ? 1 : 0 }
                    }
                }
            }
            while calls.now < 3 { await Task.yield() }
            task.cancel()
            await task.value
        }

        @Test func theOwnerOfARepeatedTaskOfNIOLivesUntilTheTaskIsCancelled() throws {
            let loop = EmbeddedEventLoop()
            let (owner, task) = Self.loopOwner(loop)
            #expect(owner.owner != nil)
            task.cancel()
            #expect(owner.owner == nil)
            try loop.close()
        }

        @Test func aRepeatedTaskOfNIOWithAWeakReferenceIsCalledOnWithoutItsTarget() throws {
            let (loop, calls) = (EmbeddedEventLoop(), Shared(0))
            let task: RepeatedTask
            do {
                let owner = Owner()
                task = loop.scheduleRepeatedTask(initialDelay: .hours(1), delay: .hours(1)) { [weak owner] _ in
                    calls.change { $0 += owner == nil ? 1 : 0 }
                }
            }
            loop.advanceTime(by: .hours(3))
            #expect(calls.now == 3)
            task.cancel()
            try loop.close()
        }

        @Test func aTimerOfThisLibraryEndsWithItsTarget() throws {
            let owner = try Self.ownerOfOurs()
            // A tick that runs just then holds the target until it returns.
            wait { owner.weak.owner == nil }
            wait { owner.timer.state != .scheduled }
            #expect(owner.timer.state == .ended(.targetReleased))
        }

        private static func ownerOfOurs() throws -> (weak: Weak, timer: PreciseTimer) {
            let owner = Owner()
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), target: owner) { owner, _ in owner.tick() }
            return (Weak(owner: owner), timer)
        }

        private static func loopOwner(_ loop: EmbeddedEventLoop) -> (Weak, RepeatedTask) {
            let owner = Owner()
            let task = loop.scheduleRepeatedTask(initialDelay: .hours(1), delay: .hours(1)) { _ in owner.tick() }
            owner.timer = task
            return (Weak(owner: owner), task)
        }
    }
}
