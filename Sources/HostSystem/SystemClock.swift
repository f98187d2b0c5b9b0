internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// A clock of the kernel.
package enum SystemClock: Sendable {
    /// CLOCK_MONOTONIC.
    case monotonic
    /// CLOCK_BOOTTIME.
    case boottime
    /// CLOCK_REALTIME.
    case realtime

    private var clock: TimerClock {
        switch self {
        case .monotonic: .suspending
        case .boottime: .continuous
        case .realtime: .wall
        }
    }

    var id: clockid_t { clock.kernelID }

    /// The time in nanoseconds since the clock's origin. Comes from the vDSO: no system call on ordinary hosts.
    package var nanoseconds: UInt64 { clock.now.nanoseconds }

    /// Nanoseconds to which the kernel rounds deadlines: 1 with high-resolution timers, and otherwise some milliseconds
    /// (clock_getres(2)); nil if it does not say.
    package var resolution: UInt64? {
        var time = timespec()
        guard unsafe clock_getres(id, &time) == 0 else { return nil }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Nanoseconds between two steps of an ARM processor's counter, from which the clocks are read; nil on others,
    /// whose counters step within a nanosecond. Some counters of 1 GHz take larger steps and do not say so.
    package static var step: Double? {
        let frequency = counter_frequency()
        return frequency > 0 ? 1e9 / Double(frequency) : nil
    }

    /// Sleeps until the clock shows so many nanoseconds. Signals do not end the sleep.
    package func sleep(until nanoseconds: UInt64) {
        var time = timespec(nanoseconds: nanoseconds)
        while unsafe clock_nanosleep(id, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// Sleeps for some monotonic time.
    package static func sleep(for duration: Duration) {
        let (seconds, attoseconds) = max(duration, .zero).components
        let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        monotonic.sleep(until: monotonic.nanoseconds + nanoseconds)
    }
}

/// A timerfd without anything around it (timerfd_create(2)). Closed with the object.
package final class BareTimer: Sendable {
    private let number: CInt
    private let clock: SystemClock

    package init(_ clock: SystemClock) throws(SystemError) {
        self.clock = clock
        number = timerfd_create(clock.id, CInt(TFD_CLOEXEC))
        if number == -1 { throw .last("creating a timerfd") }
    }

    deinit { close(number) }

    /// Sets an absolute deadline in nanoseconds, and waits until it has passed. Returns early if the kernel refuses
    /// that.
    package func wait(until nanoseconds: UInt64) {
        var setting = itimerspec()
        // A value of zero would disarm the timer.
        setting.it_value = timespec(nanoseconds: max(nanoseconds, 1))
        repeat {
            guard unsafe timerfd_settime(number, CInt(TFD_TIMER_ABSTIME), &setting, nil) == 0 else { return }
            var expirations: UInt64 = 0
            while unsafe read(number, &expirations, MemoryLayout<UInt64>.size) == -1, errno == EINTR {}
            // The time of day may have been set back meanwhile.
        } while clock == .realtime && clock.nanoseconds < nanoseconds
    }
}

/// How late the kernel may end a sleep of the calling thread.
///
/// It does not matter to a timerfd. Setting it needs no privilege. Threads and programs that the thread creates take
/// it over as their default.
package enum TimerSlack {
    /// In nanoseconds; 50,000 unless a thread sets another value. Setting 0 restores the thread's default.
    package static var nanoseconds: UInt {
        get { UInt(max(timer_slack(), 0)) }
        set { _ = timer_slack_set(newValue) }
    }

    /// The same; nil if the kernel does not say. A real-time thread has none.
    package static var shown: UInt64? { UInt64(exactly: timer_slack()) }
}
