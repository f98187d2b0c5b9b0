internal import TimerAlarms
internal import TimerKernel

/// Notices the steps of a service's clock: somebody sets the wall clock, or the machine is suspended while the clock
/// goes on. What comes due by a step has no lateness.
final class StepWatch {
    /// The clock; nil for virtual time, whose alarm counts its steps itself.
    private let clock: TimerClock?
    private let alarm: (any SteppingAlarm)?
    /// How far the clock is ahead of the suspending clock, which has no steps.
    private var offset: ClockOffset
    /// The sum of all steps of virtual time up to now, in nanoseconds.
    private var sum: Int64 = 0
    /// The time just after the latest step was noticed.
    private(set) var latest: UInt64 = 0

    /// A shorter step, in nanoseconds, is shorter than the lateness of most ticks.
    private static var shortest: UInt64 { 10_000 }

    /// Nil for a clock without steps: the suspending clock, and the clock of a user's own alarm that does not show the
    /// kernel's time.
    init?(_ alarm: any TimerAlarm) {
        let (now, alarm) = (alarm.now, alarm as? any SteppingAlarm)
        if now.clock == .suspending { return nil }
        let kernels = now.clock.now.nanoseconds
        let isKernels = max(kernels, now.nanoseconds) - min(kernels, now.nanoseconds) < 1_000_000_000
        guard alarm != nil || isKernels else { return nil }
        self.alarm = alarm
        clock = alarm == nil ? now.clock : nil
        sum = alarm?.steps ?? 0
        offset = alarm == nil ? ClockOffset(of: now.clock, to: .suspending) : ClockOffset(nanoseconds: 0, error: 0)
    }

    /// Whether the clock has made a step since the last check. `now` is its time, read just before.
    func check(_ now: UInt64) -> Bool {
        if let alarm {
            let steps = alarm.steps
            guard steps != sum else { return false }
            (sum, latest) = (steps, now)
            return true
        }
        guard let clock else { return false }
        let ahead = Int64(bitPattern: now &- TimerClock.suspending.now.nanoseconds)
        if (ahead &- offset.nanoseconds).magnitude < Self.shortest { return false }
        // Either a step, or this thread stood still between the two readings.
        let reading = ClockOffset(of: clock, to: .suspending)
        guard offset.jump(to: reading) != nil else { return false }
        (offset, latest) = (reading, clock.now.nanoseconds)
        return true
    }
}
