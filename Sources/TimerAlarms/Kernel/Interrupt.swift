internal import Glibc
internal import Synchronization

/// Whether Ctrl-C was pressed, for a command that ends in good order.
package enum Interrupt {
    private static let wasSignalled = Atomic(false)

    /// Whether SIGINT has come since ``watch()``.
    package static var isRequested: Bool { wasSignalled.load(ordering: .relaxed) }

    /// From now on the first SIGINT is only noted, by the calling thread if no other takes it. A second one ends the
    /// process, as without this call.
    package static func watch() {
        // Also makes sure that the flag exists before the signal handler needs it.
        wasSignalled.store(false, ordering: .relaxed)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in Interrupt.note() }
        action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND))
        unsafe sigaction(SIGINT, &action, nil)
        // Whoever started this process from a worker thread may have handed a mask down with it.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Called by the signal handler: a store is all that is allowed there.
    private static func note() { wasSignalled.store(true, ordering: .relaxed) }
}
