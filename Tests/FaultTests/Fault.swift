import Foundation
import Glibc

/// Makes the system refuse resources, in a test's separate process.
enum Fault {
    /// Ends the process with SIGALRM after a time: a hang is a failure.
    static func limitSeconds(_ seconds: UInt32) { alarm(seconds) }

    /// From now on no descriptor can be opened, until `openDescriptorTable`.
    ///
    /// First wait in a task: Dispatch opens descriptors for its first wait, and ends the process if it cannot.
    static func closeDescriptorTable() { setLimit(Int32(RLIMIT_NOFILE.rawValue), 0) }

    static func openDescriptorTable() { setLimit(Int32(RLIMIT_NOFILE.rawValue), 1_000) }

    /// From now on no stack can be mapped for another thread: the address space may grow only a little.
    static func refuseThreads() {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").first
        let bytes = (pages.flatMap { UInt64($0) } ?? 0) * 4096
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

    /// From now on the process's threads, also those it starts later, run on the first processor only. Returns whether
    /// that was obtained.
    static func useOneProcessor() -> Bool {
        // Glibc shows this function to GNU sources only.
        typealias Function = @convention(c) (pid_t, Int, UnsafePointer<UInt>) -> CInt
        guard let address = unsafe dlsym(nil, "sched_setaffinity") else { return false }
        var first: UInt = 1
        let call = unsafe unsafeBitCast(address, to: Function.self)
        return unsafe call(getpid(), MemoryLayout<UInt>.size, &first) == 0
    }

    private static func setLimit(_ resource: Int32, _ soft: UInt64) {
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
        limit.rlim_cur = rlim_t(min(soft, UInt64(limit.rlim_max)))
        _ = unsafe setrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
    }
}
