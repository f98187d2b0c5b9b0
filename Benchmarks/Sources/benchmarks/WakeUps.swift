import ArgumentParser
import CBenchmark
import CLibevent
import Dispatch
import Foundation
import Glibc
import PreciseTimer

/// The system's cost of one tick of a 1 ms timer.
struct WakeUps: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "wake-ups",
        abstract: "Context switches and system calls per tick of one timer of a millisecond."
    )
    static let heading = "Wake-ups: one timer of a millisecond"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        let strace = Program.find("strace")
        var switches: [WakeUpCase.Kind: Figures] = [:]
        var calls: [WakeUpCase.Kind: Figures] = [:]
        for round in options.rounds(with: 1_000_000) {
            for kind in WakeUpCase.Kind.allCases {
                progress("wake-ups: round \(round + 1): \(kind.title)")
                let figures = try Program.figures(of: ["wake-up-case", kind.rawValue, "2000"])
                if let switched = figures["switches"], let ticks = figures["ticks"], ticks > 0 {
                    switches[kind, default: Figures()].values.append(switched / ticks)
                }
                if round == 0, let strace { calls[kind] = Figures(values: [try systemCalls(kind, strace)]) }
            }
        }
        var table = Table(
            title: "Per tick; × the same mechanism without PreciseTimer",
            columns: ["", "context switches", "system calls"],
            remarks: strace == nil ? ["strace is not installed: system calls were not counted."] : []
        )
        for kind in WakeUpCase.Kind.allCases {
            let cells = [switches, calls]
                .map { figures in
                    figures[kind]?.text(.count, against: kind.bare.flatMap { figures[$0] }) ?? "–"
                }
            table.rows.append([kind.title] + cells)
        }
        let why = "PreciseTimer sets each deadline, and the loop or event beside it repeats by itself"
        for (name, figures, why) in [("context switches", switches, ""), ("system calls", calls, why)] {
            let rows = WakeUpCase.Kind.allCases
                .map { kind in (kind.title, figures[kind]?.ratio(to: kind.bare.flatMap { figures[$0] })) }
            let reference = "the \(name) of the mechanism alone"
            table.remarks += [Behind.remark(rows, above: 1.25, reference, why)].compactMap(\.self)
        }
        return [table]
    }

    /// System calls per tick: those of 2 seconds less those of 1 second, so that the start cancels out.
    private static func systemCalls(_ kind: WakeUpCase.Kind, _ strace: String) throws -> Double {
        let file = NSTemporaryDirectory() + "precise-timer-strace-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let counts = try ["1000", "2000"]
            .map { milliseconds -> (calls: Double, ticks: Double) in
                let command = [Program.own, "wake-up-case", kind.rawValue, milliseconds]
                let output = try Program.run(strace, ["-c", "-f", "-o", file] + command)
                let summary = try String(contentsOfFile: file, encoding: .utf8)
                let total = summary.split(separator: "\n").last { $0.hasSuffix("total") }?.split(separator: " ")
                let calls = total.flatMap { $0.count > 3 ? Double($0[3]) : nil }
                return (calls ?? .nan, Program.figures(in: output)["ticks"] ?? .nan)
            }
        return (counts[1].calls - counts[0].calls) / (counts[1].ticks - counts[0].ticks)
    }
}

extension WakeUpCase.Kind {
    fileprivate var title: String {
        switch self {
        case .ourDispatch: "PreciseTimer on .dispatch"
        case .ourTimerFD: "PreciseTimer on .timerFD"
        case .ourLibevent: "PreciseTimer on .libevent"
        case .dispatch: "DispatchSourceTimer"
        case .timerFD: "C loop over a timerfd"
        case .libevent: "libevent's persistent event"
        }
    }

    /// The same mechanism without this library.
    fileprivate var bare: WakeUpCase.Kind? {
        switch self {
        case .ourDispatch: .dispatch
        case .ourTimerFD: .timerFD
        case .ourLibevent: .libevent
        case .dispatch, .timerFD, .libevent: nil
        }
    }
}

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
