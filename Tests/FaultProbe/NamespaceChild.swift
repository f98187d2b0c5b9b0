import Glibc
import PreciseTimer
import TestSupport

/// A forked child with the same process id as its parent: each is the first process of its namespace.
enum NamespaceChild {
    /// Whether a schedule on the parent's service throws the error for children. False, too, if there is no such child.
    static func getsAnError(from service: TimerService) -> Bool {
        let child = fork()
        if child == 0 { _exit(getpid() == 1 && throwsAnError(service) ? 0 : 1) }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        return child > 0 && getpid() == 1 && status == 0
    }

    private static func throwsAnError(_ service: TimerService) -> Bool {
        do {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: Log()) { $0.note($1) }
            return false
        } catch {
            return error.code == .forked
        }
    }

    /// Forks by the system call clone(2), which can make the child's namespace. Glibc's `syscall` has variable
    /// arguments, which integers are passed to as to any other function.
    private static func fork() -> pid_t {
        typealias Call = @convention(c) (Int, UInt, Int, Int, Int, Int) -> Int
        guard let address = unsafe dlsym(nil, "syscall") else { return -1 }
        let call = unsafe unsafeBitCast(address, to: Call.self)
        let newNamespace: UInt = 0x2000_0000
        return pid_t(call(Self.clone, newNamespace | UInt(SIGCHLD), 0, 0, 0, 0))
    }

    // The call's number, which Glibc does not show to Swift.
    #if arch(x86_64)
    private static let clone = 56
    #else
    private static let clone = 220
    #endif
}
