public import Dispatch

extension PreciseTimer {
    /// Where handlers run.
    ///
    /// Wherever they run, a timer has at most one running handler, and at most one tick on its way. Deadlines that
    /// pass before the handler of that tick is called are merged into it and counted in its ``Tick/missed``.
    @nonexhaustive
    public enum Delivery: Sendable {
        /// On the alarm's thread, with the least lateness. A handler that does not return quickly makes the service's
        /// other timers late.
        case inline
        /// On a Dispatch queue, serial or concurrent.
        case queue(DispatchQueue)
        /// On the main actor. An ordinary handler reaches the main actor's state there with
        /// `MainActor.assumeIsolated`, which ends the process on any other thread. A handler that is isolated to the
        /// main actor, `{ @MainActor target, tick in … }`, runs there without this case and without `assumeIsolated`.
        /// The program must run the main thread's loop: an `async` main, `dispatchMain()` and a main run loop do.
        case mainActor

        /// The case as it is written in code.
        var name: String {
            switch self {
            case .inline: ".inline"
            case .queue(let queue): ".queue(\(queue.label))"
            case .mainActor: ".mainActor"
            }
        }
    }
}
