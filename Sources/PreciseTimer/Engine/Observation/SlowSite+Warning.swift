internal import Synchronization
internal import TimerKernel

/// The warnings of debug builds about handlers that run for longer than their period.
package enum SlowHandlerWarnings {
    /// How many are left. A process is warned of the first 16 call sites: a test run may have thousands. Relaxed: the
    /// count orders nothing.
    fileprivate static let left = Atomic(16)

    /// Turns them off in this process, for a program whose handlers are slow on purpose.
    package static func turnOff() { left.store(0, ordering: .relaxed) }
}

extension SlowSite {
    /// Warns the developer about a handler that runs for longer than its period.
    func warn() {
        guard SlowHandlerWarnings.left.subtract(1, ordering: .relaxed).oldValue > 0 else { return }
        let (time, period) = (Duration(wholeNanoseconds: longest).text, Duration(wholeNanoseconds: period).text)
        let calls = "in \(count) calls, once for \(time)"
        let deadlines = missed == 1 ? "1 deadline" : "\(missed) deadlines"
        // Elsewhere it makes no other timer late.
        let elsewhere = "for longer than its period, \(period), \(calls): \(deadlines) had no tick;"
        let text =
            switch way {
            case .inline:
                "ran for longer than \(period), its period or that of another timer on its thread, \(calls); ticks are "
                    + "late: do less in it, or let it run elsewhere (`deliver: .queue`)"
            case .onQueue: "ran \(elsewhere) do less in it, or use a longer period or `.fixedDelay`"
            case .inTask: "ran or awaited \(elsewhere) use a longer period or `.fixedDelay`"
            }
        StandardError.writeLine(site.message(ofHandler: label, text))
    }
}
