public import Dispatch

extension PreciseTimer {
    /// Where handlers run.
    ///
    /// On any of them a timer has one handler at a time, and at most one tick on its way: what comes due before that
    /// tick's handler is called is merged into it and counted in its ``Tick/missed``.
    @nonexhaustive
    public enum Delivery: Sendable {
        /// On the alarm's thread: the least lateness. A handler that does not return quickly makes the service's other
        /// timers late.
        case inline
        /// On a Dispatch queue, serial or concurrent.
        case queue(DispatchQueue)
        /// On the main actor. An ordinary handler gets access to the main actor's state there with
        /// `MainActor.assumeIsolated`; on any other thread that ends the process. A handler that is isolated to the main
        /// actor, `{ @MainActor target, tick in … }`, needs neither: it runs there without a `deliver`. The program has
        /// to run the main thread's loop, as an `async` main, `dispatchMain()` and a main run loop do.
        case mainActor

        /// As it is written in code.
        var name: String {
            switch self {
            case .inline: ".inline"
            case .queue(let queue): ".queue(\(queue.label))"
            case .mainActor: ".mainActor"
            }
        }
    }
}
