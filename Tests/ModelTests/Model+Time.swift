import PreciseTimer
import PreciseTimerTestKit

/// How time passes, and the faults on the way.
extension Model {
    mutating func pass(_ nanoseconds: UInt64) {
        now += nanoseconds
        elapsed += nanoseconds
    }

    mutating func advance(by nanoseconds: UInt64) {
        if isFiring { return pass(nanoseconds) }
        var last = elapsed + nanoseconds
        while difference == nil {
            let firing: UInt64? =
                isShutDown
                ? nil
                : armed.map {
                    elapsed + UInt64(max(0, Int64($0) - Int64(now) + wakeError))
                }
            if let fault = faults.first, fault.at <= last, fault.at <= firing ?? .max {
                happen(fault)
                last = max(last, elapsed)
            } else if let firing, firing <= last {
                pass(firing - elapsed)
                (wakeError, armed) = (0, nil)
                look()
            } else {
                break
            }
        }
        pass(max(last, elapsed) - elapsed)
    }

    mutating func happen(_ fault: Fault) {
        pass(fault.at - min(elapsed, fault.at))
        faults.removeFirst()
        switch fault.fault {
        case .wakeLate(let delay): wakeError += delay.wholeNanoseconds
        case .wakeEarly(let lead): wakeError -= lead.wholeNanoseconds
        case .stall(let length): pass(UInt64(length.wholeNanoseconds))
        case .stepClock(let step): now = UInt64(Int64(now) + step.wholeNanoseconds)
        }
        seen.insert("fault")
    }

    var nextLook: UInt64? {
        pending.compactMap { timers[$0] }.filter(\.isWaiting).compactMap(\.look).filter { $0 != .max }.min()
    }

    /// Sets the alarm if the earliest deadline may have become earlier; a look does this at its end.
    mutating func setAlarm() {
        guard !isFiring, let next = nextLook, next < armed ?? .max else { return }
        armed = next
    }
}
