import ArgumentParser
import CBenchmark
import CLibevent
import Dispatch
import Glibc
import PreciseTimer

/// A process with one 1 ms timer, which does nothing else.
struct WakeUpCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "wake-up-case", shouldDisplay: false)

    /// Which mechanism runs the timer.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case ourDispatch
        case ourTimerFD
        case ourLibevent
        case dispatch
        case timerFD
        case libevent
    }

    @Argument var kind: Kind
    @Argument var milliseconds: UInt64

    func run() throws {
        let target = Target()
        let millisecond = DispatchTimeInterval.milliseconds(1)
        switch kind {
        case .ourDispatch: try measure(on: TimerService(.dispatch), target)
        case .ourTimerFD: try measure(on: TimerService(.timerFD), target)
        case .ourLibevent: try measure(on: TimerService(.libevent), target)
        case .dispatch:
            let queue = DispatchQueue(label: "benchmark")
            let source = DispatchTimers.source(on: queue, target, deadline: .now(), repeating: millisecond)
            measure { Clock.sleep(milliseconds: $0) }
            source.cancel()
        case .timerFD:
            bench_timerfd_loop(1_000_000, 100)
            let before = Self.switches
            bench_timerfd_loop(1_000_000, milliseconds)
            Program.report("switches", Double(Self.switches - before))
            Program.report("ticks", Double(milliseconds))
        case .libevent:
            let base = try unsafe LoopEvents.makeBase()
            let event = unsafe LoopEvents.event(on: base, target, flags: Int16(EV_PERSIST))
            unsafe LoopEvents.add(event, after: 1_000_000)
            measure { milliseconds in
                var time = timeval(tv_sec: 0, tv_usec: Int(milliseconds * 1_000))
                unsafe event_base_loopexit(base, &time)
                unsafe event_base_loop(base, 0)
            }
            unsafe event_free(event)
            unsafe event_base_free(base)
        }
        withExtendedLifetime(target) {}
    }

    private func measure(on service: TimerService, _ target: Target) throws {
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { target, _ in target.tick() }
        measure { Clock.sleep(milliseconds: $0) }
        service.shutdown()
    }

    /// Counts from a tenth of a second on, when everything has started.
    private func measure(_ run: (UInt64) -> Void) {
        run(100)
        let (ticks, switches) = (Ticks.count, Self.switches)
        run(milliseconds)
        Program.report("ticks", Double(Ticks.count - ticks))
        Program.report("switches", Double(Self.switches - switches))
    }

    /// Context switches of all threads.
    private static var switches: Int {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_nvcsw + usage.ru_nivcsw
    }
}
