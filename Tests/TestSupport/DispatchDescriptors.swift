internal import Dispatch

/// The descriptors of Dispatch, which it opens for its first wait.
package enum DispatchDescriptors {
    /// Lets Dispatch open them. Otherwise a test's time limit causes that wait, at any moment. To be called first.
    package static func open() {
        // A timer that is due soon may come before Dispatch has opened a timer of the kernel for it.
        let far = DispatchSource.makeTimerSource()
        far.schedule(deadline: .now() + .seconds(3600))
        far.activate()
        precondition(eventually { !ProcFS.descriptors(on: "anon_inode:[timerfd]").isEmpty })
        far.cancel()
    }
}
