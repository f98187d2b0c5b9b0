internal import CLinuxTimers
internal import Glibc
package import TimerCore

/// Starting threads that are good guests of the process.
package enum Thread {
    /// Starts a detached thread: named, with all signals blocked but those of its own faults, never waited for by the
    /// process's exit.
    ///
    /// It has the affinity and the nice value of the main thread, whatever thread starts it, and the main thread's policy
    /// unless that is a real-time one. Without CAP_SYS_NICE the kernel may refuse a better nice value than the creator's:
    /// then the thread keeps that.
    ///
    /// - Parameters:
    ///   - name: at most 15 bytes, as the kernel shows it.
    ///   - body: what the thread does.
    /// - Throws: `TimerError` where the system refuses the thread.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(TimerError) {
        // A thread takes over its creator's signal mask, so it starts with everything blocked. Not what a thread brings
        // upon itself: where that is blocked the kernel ends the process without asking a crash reporter.
        var blocked = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&blocked)
        for fault in [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] { unsafe sigdelset(&blocked, fault) }
        unsafe pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

        let start = unsafe Unmanaged.passRetained(Start(name, body))
        var thread = pthread_t()
        let failure = unsafe pthread_create(&thread, nil, { unsafe Thread.run($0) }, start.toOpaque())
        if failure != 0 {
            unsafe start.release()
            throw Errno(failure).error(attempting: "starting the thread \(name)")
        }
        pthread_detach(thread)
    }

    private static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument = unsafe argument else { return nil }
        let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        _ = unsafe start.name.withCString { unsafe thread_name_set($0) }
        // Not those of its creator, which a new thread starts with (pthread_create(3)).
        thread_scheduling_copy(getpid())
        start.body()
        return nil
    }

    /// What a new thread is handed.
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

/// Which thread of the process this is.
package struct ThreadID: Hashable, Sendable {
    package let number: UInt

    /// The calling thread.
    package static var current: ThreadID { ThreadID(number: UInt(thread_identity())) }
}
