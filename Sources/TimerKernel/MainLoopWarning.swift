internal import Dispatch
internal import Synchronization

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
