internal import CTimerKernel

/// The executor that the calling thread occupies.
package enum CurrentExecutor {
    /// Whether it is that of an actor: until the caller returns, nothing else runs on the actor.
    package static func isOf(_ actor: any Actor) -> Bool {
        // An unowned reference is two words: the executor, and how it executes.
        let (identity, implementation) = unsafe unsafeBitCast(actor.unownedExecutor, to: (UInt, UInt).self)
        return executor_is_current(identity, implementation)
    }
}
