internal import CTimerKernel
internal import Dispatch
internal import Synchronization

/// Reports in debug builds which code needed the main actor on another thread, before that ends the process.
///
/// Off the main actor, `MainActor.assumeIsolated` and its relatives end in a trap of libdispatch, which prints
/// nothing on Linux. The Swift runtime calls a hook just before that (`swift_task_checkIsolated_hook` in its
/// Concurrency.h). The first use of this type sets the hook, which calls the previous hook. There is no report if
/// the program lacks this dynamic symbol, as with a statically linked Swift runtime.
package enum MainActorCheck {
    /// The runtime's check. The check and the hook use Swift's calling convention, which for three words equals that
    /// of C.
    private typealias Check = @convention(c) (_ identity: UInt, _ implementation: UInt) -> Void
    private typealias Hook = @convention(c) (_ identity: UInt, _ implementation: UInt, _ check: UInt) -> Void

    /// A piece of code that a thread runs. The tasks that it makes inherit the value, but not the thread.
    private struct Code: Sendable {
        let thread = ThreadID.current
        let warning: @Sendable () -> String
    }

    @TaskLocal private static var code: Code?

    /// Runs a body on the calling thread.
    ///
    /// - Parameters:
    ///   - body: the code.
    ///   - warning: makes the line for standard error if the code needs the main actor on another thread.
    package static func watch(_ body: () -> Void, warning: @escaping @Sendable () -> String) {
        isInstalled ? $code.withValue(Code(warning: warning), operation: body) : body()
    }

    private static let mainQueue = DispatchSpecificKey<Bool>()
    /// The previous hook, or 0. Relaxed, because the runtime reads its own hook without an order. A thread that sees
    /// the new hook before this value, as ARM processors allow, leaves the previous hook out of one check.
    private static let previous = Atomic<UInt>(0)

    /// Whether the hook is set. The first use sets it.
    private static let isInstalled: Bool = {
        guard let symbol = unsafe dlsym(nil, "swift_task_checkIsolated_hook") else { return false }
        DispatchQueue.main.setSpecific(key: mainQueue, value: true)
        let hook = unsafe symbol.assumingMemoryBound(to: Hook?.self)
        previous.store(unsafe unsafeBitCast(hook.pointee, to: UInt.self), ordering: .relaxed)
        unsafe hook.pointee = { identity, implementation, check in
            MainActorCheck.warn(of: identity)
            let previous = MainActorCheck.previous.load(ordering: .relaxed)
            if previous != 0 {
                unsafe unsafeBitCast(previous, to: Hook.self)(identity, implementation, check)
            } else {
                unsafe unsafeBitCast(check, to: Check.self)(identity, implementation)
            }
        }
        return true
    }()

    /// Whether the main actor's code may run here: on the main queue, or on the main thread.
    private static var isOnMain: Bool {
        thread_is_main() != 0 || DispatchQueue.getSpecific(key: mainQueue) == true
    }

    private static func warn(of identity: UInt) {
        guard let code, code.thread == .current, !isOnMain else { return }
        let main = unsafe unsafeBitCast(MainActor.sharedUnownedExecutor, to: (UInt, UInt).self)
        if identity == main.0 { StandardError.writeLine(code.warning()) }
    }
}

/// Tells the developer, once, about a process in which the main actor does not run.
package enum MainLoopWarning {
    private static let isAlive = Atomic(false)

    private static let trial: Void = {
        Task.detached { @MainActor in isAlive.store(true, ordering: .relaxed) }
        DispatchQueue.global()
            .asyncAfter(deadline: .now() + .seconds(5)) {
                if isAlive.load(ordering: .relaxed) { return }
                StandardError.writeLine(
                    "PreciseTimer: a tick has waited for 5 s for the main actor, which does not run: the program needs "
                        + "an async main function, dispatchMain(), or a run loop on its main thread"
                )
            }
    }()

    /// A tick is on its way to the main actor.
    package static func expectTick() { _ = trial }
}

/// The executor that the calling thread occupies.
package enum CurrentExecutor {
    /// Whether it is that of an actor: until the caller returns, nothing else runs on the actor.
    package static func isOf(_ actor: any Actor) -> Bool {
        // An unowned reference is two words: the executor, and how it executes.
        let (identity, implementation) = unsafe unsafeBitCast(actor.unownedExecutor, to: (UInt, UInt).self)
        return executor_is_current(identity, implementation)
    }
}
