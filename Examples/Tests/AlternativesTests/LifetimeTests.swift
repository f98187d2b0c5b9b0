import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOEmbedded
import NIOPosix
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

/// The row "cancel that waits": a cancel while the handler runs.
extension Alternatives {
    struct CancelTests {
        private let isRunning = DispatchSemaphore(value: 0)
        private let mayEnd = DispatchSemaphore(value: 0)
        private let hasEnded = Shared(false)

        /// A handler that runs until `mayEnd` is signalled.
        private func handler() {
            isRunning.signal()
            mayEnd.wait()
            hasEnded.change { $0 = true }
        }

        @Test func aCancelledDispatchTimersHandlerMayStillRunAndItsCancelHandlerComesAfterIt() {
            let source = DispatchSource.makeTimerSource()
            source.schedule(deadline: .now())
            source.setEventHandler { handler() }
            let hadEnded = Shared<Bool?>(nil)
            source.setCancelHandler { hadEnded.change { $0 = hasEnded.now } }
            source.activate()
            isRunning.wait()
            source.cancel()
            #expect(!hasEnded.now && hadEnded.now == nil)
            mayEnd.signal()
            wait { hadEnded.now != nil }
            #expect(hadEnded.now == true)
        }

        @Test func anInvalidatedRunLoopTimersHandlerMayStillRun() {
            let timer = OtherThreads(Timer(fire: Date(), interval: 1, repeats: true) { _ in handler() })
            let thread = Thread {
                RunLoop.current.add(timer.value, forMode: .default)
                runLoop { hasEnded.now }
            }
            thread.start()
            isRunning.wait()
            timer.value.invalidate()
            #expect(!hasEnded.now)
            mayEnd.signal()
            wait { hasEnded.now }
        }

        @Test func theTaskOfAnAsyncTimerSequenceCanBeAwaitedAfterItsCancel() async {
            let task = Task {
                for await _ in AsyncTimerSequence(interval: .milliseconds(1), clock: .suspending) {
                    isRunning.signal()
                    while !Task.isCancelled { await Task.yield() }
                    usleep(20_000)
                    hasEnded.change { $0 = true }
                }
            }
            while isRunning.wait(timeout: .now()) == .timedOut { await Task.yield() }
            task.cancel()
            await task.value
            #expect(hasEnded.now)
        }

        @Test func aRepeatedTaskOfNIOFulfilsThePromiseOfItsCancelAfterItsHandler() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let loop = group.next()
            let task = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .hours(1)) { _ in handler() }
            wait { isRunning.wait(timeout: .now()) == .success }
            let promise = loop.makePromise(of: Void.self)
            let hadEnded = promise.futureResult.map { hasEnded.now }
            task.cancel(promise: promise)
            #expect(!hasEnded.now)
            mayEnd.signal()
            #expect(try await hadEnded.get())
            try await group.shutdownGracefully()
        }

        @Test func theCancelOfARepeatedAsyncTaskOfNIODoesNotWaitForTheFutureOfItsHandler() throws {
            let loop = EmbeddedEventLoop()
            let (work, cancelled) = (loop.makePromise(of: Void.self), Shared(false))
            let task = loop.scheduleRepeatedAsyncTask(initialDelay: .zero, delay: .hours(1)) { _ in work.futureResult }
            loop.run()
            let promise = loop.makePromise(of: Void.self)
            promise.futureResult.whenSuccess { cancelled.change { $0 = true } }
            task.cancel(promise: promise)
            loop.run()
            #expect(cancelled.now)
            work.succeed()
            try loop.close()
        }
    }
}

/// A timer that a thread uses although it belongs to another one.
private struct OtherThreads: @unchecked Sendable {
    let value: Timer
    init(_ value: Timer) { self.value = value }
}
