internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// The library's clock: it only reads the kernel's.
extension TimerClock {
    /// The time in nanoseconds since the clock's origin. Comes from the vDSO: no system call on ordinary hosts.
    var nanoseconds: UInt64 { now.nanoseconds }

    /// Nanoseconds between two steps of an ARM processor's counter, from which the clocks are read; nil on others,
    /// whose counters step within a nanosecond. Some counters of 1 GHz take larger steps and do not say so.
    static var step: Double? {
        let frequency = counter_frequency()
        return frequency > 0 ? 1e9 / Double(frequency) : nil
    }

    /// Sleeps until the clock shows so many nanoseconds. Signals do not end the sleep.
    func sleep(until nanoseconds: UInt64) {
        var time = Self.kernelTime(nanoseconds)
        while unsafe clock_nanosleep(kernelID, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// Member by member: the build order decides which module declares the type, and so which extensions it has.
    fileprivate static func kernelTime(_ nanoseconds: UInt64) -> timespec {
        timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// Sleeps for some monotonic time.
    static func sleep(for duration: Duration) { KernelClock.sleep(for: duration) }
}

/// A timerfd without anything around it (timerfd_create(2)), closed with the object. Results compare the library's
/// timers with it, so all that it shares with them is the clock.
final class BareTimer: Sendable {
    private let number: CInt
    private let clock: TimerClock

    init(_ clock: TimerClock) throws(Failure) {
        self.clock = clock
        number = timerfd_create(clock.kernelID, CInt(TFD_CLOEXEC))
        if number == -1 { throw .last("creating a timerfd") }
    }

    deinit { close(number) }

    /// Waits until an absolute instant in nanoseconds has passed. Returns early if the kernel refuses that.
    func wait(until nanoseconds: UInt64) {
        var setting = itimerspec()
        // A value of zero would disarm the timer.
        setting.it_value = TimerClock.kernelTime(max(nanoseconds, 1))
        repeat {
            guard unsafe timerfd_settime(number, CInt(TFD_TIMER_ABSTIME), &setting, nil) == 0 else { return }
            var expirations: UInt64 = 0
            while unsafe read(number, &expirations, MemoryLayout<UInt64>.size) == -1, errno == EINTR {}
            // The time of day may have been set back since.
        } while clock == .wall && clock.nanoseconds < nanoseconds
    }
}

/// How late the kernel may end a sleep of the calling thread. Threads and programs that it creates take it over as
/// their default. It does not matter to a timerfd, and setting it needs no privilege.
enum TimerSlack {
    /// In nanoseconds; 50,000 unless a thread sets another value. Setting 0 restores the thread's default. A real-time
    /// thread has 0. Nil if the kernel does not say; setting nil does nothing.
    static var nanoseconds: UInt64? {
        get { UInt64(exactly: timer_slack()) }
        set { if let newValue { _ = timer_slack_set(UInt(newValue)) } }
    }
}
