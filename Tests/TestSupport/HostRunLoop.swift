#if RunLoop
internal import Dispatch
package import Foundation
internal import TimerKernel

/// A run loop of another thread. The thread runs it while a source is attached.
@safe
package final class HostRunLoop: Sendable {
    package nonisolated(unsafe) let loop: RunLoop
    private let isAttached = DispatchSemaphore(value: 0)
    private let end = Box<Bool>()

    package init() {
        let made = DispatchSemaphore(value: 0)
        let (isAttached, end) = (isAttached, end)
        let box = LoopBox()
        try? TimerKernel.Thread.start("test.host") {
            unsafe box.loop = RunLoop.current
            made.signal()
            isAttached.wait()
            while RunLoop.current.run(mode: .default, before: .distantFuture) {}
            end.value = true
        }
        made.wait()
        guard let loop = unsafe box.loop else { preconditionFailure("the thread has made its loop") }
        unsafe self.loop = loop
    }

    /// Makes the thread run its loop, after a source has been attached.
    package func run() { isAttached.signal() }

    /// Whether the loop has returned.
    package var hasReturned: Bool { end.value != nil }
}

/// Hands a loop from one thread to another, with a semaphore in between.
@safe
private final class LoopBox: Sendable {
    nonisolated(unsafe) var loop: RunLoop?
}
#endif
