internal import Synchronization
internal import TimerKernel

/// The warnings of debug builds about handlers that run for longer than their period.
package enum SlowHandlerWarnings {
    /// How many are left. A process is warned of the first 16 places: a test run may have thousands. Relaxed: the count
    /// orders nothing.
    private static let left = Atomic(16)

    /// Turns them off in this process, for a program whose handlers are slow on purpose.
    package static func turnOff() { left.store(0, ordering: .relaxed) }

    /// Whether one more may be written.
    fileprivate static func take() -> Bool { left.subtract(1, ordering: .relaxed).oldValue > 0 }
}

extension SlowPlace {
    /// Warns the developer about a handler that runs for longer than its period.
    func warn() {
        guard SlowHandlerWarnings.take() else { return }
        let (file, name) = unsafe (String(cString: file), label.map { " (\"\($0)\")" } ?? "")
        let (time, period) = (Duration(wholeNanoseconds: longest).text, Duration(wholeNanoseconds: period).text)
        StandardError.write(
            "PreciseTimer: \(file):\(line): the handler of this timer\(name) ran for longer than its period of "
                + "\(period) in \(count) calls, once for \(time); its ticks are late, and inline handlers make the "
                + "service's other timers late, too\n"
        )
    }
}

/// Messages of debug builds on standard error.
extension Record {
    /// Warns the developer about a handle that was released before the first tick.
    func warnOfDroppedHandle() {
        let (file, line) = callSite
        StandardError.write(
            "PreciseTimer: \(file):\(line): the handle of this timer was dropped before its first tick, which ended "
                + "the timer; keep the handle, or schedule with a target\n"
        )
    }
}

extension TimerRequest {
    /// A handler that, in a debug build, tells before the process ends if it asks for the main actor while it runs
    /// elsewhere. The Swift runtime ends the process for that.
    func checked(_ handler: Handler) -> Handler {
        #if DEBUG
        let (file, line) = unsafe (UInt(bitPattern: file), line)
        let name = label.map { " (\"\($0)\")" } ?? ""
        return Handler { (target: AnyObject, tick) in
            MainActorCheck.watch {
                handler.call(target, tick)
            } warning: {
                let file = unsafe UnsafePointer<UInt8>(bitPattern: file).map { unsafe String(cString: $0) } ?? "?"
                return "PreciseTimer: \(file):\(line): the handler of this timer\(name) asks for the main actor but "
                    + "does not run on it; pass `deliver: .mainActor`, or isolate the handler: "
                    + "`{ @MainActor target, tick in … }`\n"
            }
        }
        #else
        return handler
        #endif
    }
}
