import Dispatch
import Foundation
import Glibc
import TestSupport

/// Forking, which Swift hides with good reason, and the facts known of a child.
enum Fork {
    /// Runs a body in a forked child, and returns its exit code: 0 to 255, or the number of the signal that ended it,
    /// negated.
    ///
    /// A fork copies the locks of malloc and of the Swift runtime as they are. If another thread of the parent holds
    /// one at that moment, the child waits for it without end, and no library can prevent that. So a child that hangs
    /// gets two more trials; a hang of the library's own would come each time.
    ///
    /// - Parameters:
    ///   - name: the C library's function that forks.
    ///   - body: what the child does.
    ///   - parent: what the parent does before it waits for the child.
    /// - Returns: the exit code of the last trial.
    static func outcome(
        by name: String = "fork",
        of body: () -> Int32,
        meanwhile parent: () -> Void = {}
    ) -> Int32 {
        for _ in 0..<2 {
            let code = trial(by: name, of: body, meanwhile: parent)
            if code != -SIGALRM { return code }
        }
        return trial(by: name, of: body, meanwhile: parent)
    }

    private static func trial(by name: String, of body: () -> Int32, meanwhile parent: () -> Void) -> Int32 {
        let child = fork(by: name)
        if child == 0 {
            // Dispatch's threads, on which tests run, block this signal.
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGALRM)
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            alarm(Hang.seconds / 6)
            _exit(body())
        }
        parent()
        return exitCode(of: child)
    }

    /// Forks with the C library's function of that name.
    static func fork(by name: String = "fork") -> pid_t {
        typealias Function = @convention(c) () -> pid_t
        guard let address = unsafe dlsym(nil, name) else { return -1 }
        return unsafe unsafeBitCast(address, to: Function.self)()
    }

    /// The exit code of a child, or the negated number of the signal that ended it; -255 if there is no such child. A
    /// child that hangs is killed.
    static func exitCode(of child: pid_t) -> Int32 {
        let end = Reading.seconds + Double(Hang.seconds) / 2
        var status: Int32 = 0
        while true {
            let ended = unsafe waitpid(child, &status, WNOHANG)
            if ended == child { break }
            if ended == -1, errno != EINTR { return -255 }
            if Reading.seconds > end { kill(child, SIGKILL) }
            usleep(1_000)
        }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
    }

}

/// Makes the system refuse resources, in a test's separate process.
enum Fault {
    /// Ends the process with SIGALRM if it hangs: that is a failure.
    static func endIfHung() { alarm(Hang.seconds) }

    /// From now on no descriptor can be opened, until `openDescriptorTable`.
    ///
    /// Before that call `DispatchDescriptors.open()`: Dispatch ends the process if it cannot open its descriptors.
    static func closeDescriptorTable() { setLimit(Int32(RLIMIT_NOFILE.rawValue), 0) }

    static func openDescriptorTable() { setLimit(Int32(RLIMIT_NOFILE.rawValue), 1_000) }

    /// From now on no stack can be mapped for another thread: the address space may grow only a little.
    static func refuseThreads() {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").first
        let bytes = (pages.flatMap { UInt64($0) } ?? 0) * UInt64(sysconf(Int32(_SC_PAGESIZE)))
        setLimit(Int32(RLIMIT_AS.rawValue), bytes + 4 << 20)
    }

    static func allowThreads() { setLimit(Int32(RLIMIT_AS.rawValue), .max) }

    /// From now on no memory can be locked without the right to.
    static func lockNoMemory() {
        // RLIMIT_MEMLOCK, which Glibc does not show to Swift.
        setLimit(8, 0)
    }

    /// From now on a real-time thread may use no more processor time without a sleep.
    static func limitRealTime(milliseconds: UInt64) {
        // RLIMIT_RTTIME, which Glibc does not show to Swift, in microseconds.
        setLimit(15, milliseconds * 1_000)
    }

    private static func setLimit(_ resource: Int32, _ soft: UInt64) {
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
        limit.rlim_cur = rlim_t(min(soft, UInt64(limit.rlim_max)))
        _ = unsafe setrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
    }
}
