import AsyncAlgorithms
import Dispatch
import Foundation
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

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
