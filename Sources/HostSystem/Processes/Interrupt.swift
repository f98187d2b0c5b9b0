internal import Glibc
internal import Synchronization

/// Whether Ctrl-C was pressed, for commands that finish their work first.
package enum Interrupt {
    private static let wasSignalled = Atomic(false)

    /// Whether SIGINT has come since ``watch()``.
    package static var isRequested: Bool { wasSignalled.load(ordering: .relaxed) }

    /// Makes the first SIGINT set ``isRequested`` only. A second one ends the process, as without this call.
    package static func watch() {
        // Also makes sure that the flag exists before the signal handler needs it.
        wasSignalled.store(false, ordering: .relaxed)
        var action = sigaction()
        // A signal handler may do no more than a store.
        unsafe action.__sigaction_handler.sa_handler = { _ in Interrupt.note() }
        action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND))
        unsafe sigaction(SIGINT, &action, nil)
        // The parent process may have handed down a mask.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func note() { wasSignalled.store(true, ordering: .relaxed) }
}
