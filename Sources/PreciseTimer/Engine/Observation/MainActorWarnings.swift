internal import Dispatch
internal import Synchronization
internal import TimerKernel

/// Tells the developer, once, about a process in which the main actor does not run.
enum MainLoopWarning {
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
    static func expectTick() { if isDebugBuild { _ = trial } }
}

extension TimerRequest {
    /// A handler that, in a debug build, tells before the process ends if it asks for the main actor while it runs
    /// elsewhere. The Swift runtime ends the process for that.
    func checked(_ handler: Handler) -> Handler {
        guard isDebugBuild else { return handler }
        let (site, label) = unsafe (CallSite(file, UInt32(clamping: line)), label)
        return Handler { (target: AnyObject, tick) in
            MainActorCheck.watch {
                handler.call(target, tick)
            } warning: {
                site.message(
                    ofHandler: label,
                    "asks for the main actor but does not run on it; pass `deliver: .mainActor` and leave the "
                        + "assumption out, or isolate the handler: `{ @MainActor target, tick in … }`"
                )
            }
        }
    }
}
