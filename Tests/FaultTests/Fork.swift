import Glibc

/// Forking, which Swift hides with good reason, and the facts known of a child.
enum Fork {
    /// Forks with the C library's function of that name.
    static func fork(by name: String = "fork") -> pid_t {
        typealias Function = @convention(c) () -> pid_t
        guard let address = unsafe dlsym(nil, name) else { return -1 }
        return unsafe unsafeBitCast(address, to: Function.self)()
    }

    /// The exit code of a child; -1 if a signal ended it.
    static func exitCode(of child: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1 {
            if errno != EINTR { return -2 }
        }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -1
    }

    /// The processor time of this process.
    static var cpuSeconds: Double { read(CLOCK_PROCESS_CPUTIME_ID) }

    /// The processor time of the calling thread.
    static var threadSeconds: Double { read(CLOCK_THREAD_CPUTIME_ID) }

    /// Seconds of monotonic time.
    static var seconds: Double { read(CLOCK_MONOTONIC) }

    private static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
