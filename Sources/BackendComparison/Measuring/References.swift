internal import Dispatch
internal import PreciseTimer
internal import PreciseTimerExecutor
internal import Synchronization
internal import TimerKernel

/// Bare loops of system calls, the floor.
enum Bare: String, CaseIterable, Sendable {
    /// A loop that sets a timerfd and reads it.
    case timerFD = "bare"
    /// A loop of absolute `clock_nanosleep`, as cyclictest has it.
    case nanosleep = "bare-nanosleep"
}

/// The thread of a bare loop. It always waits for the earliest deadline of all timers.
///
/// It finds the passed deadlines by division, and goes on with the first future one, as the library does.
final class BareLoop: Ticking {
    private let isStopped = StopFlag()
    /// The thread lives until then, so that its account can be read.
    private let dismissed = DispatchSemaphore(value: 0)

    /// Starts the thread with the options of the backends' threads, which set a timer slack of 1 ns unless they say
    /// otherwise. A timerfd that is refused later shows as early ticks, which are reported.
    init(_ loop: Bare, _ probes: [Probe], thread: TimerService.ThreadOptions = .init()) throws(Failure) {
        let (isStopped, dismissed) = (isStopped, dismissed)
        let timer = loop == .timerFD ? try BareTimer(probes[0].deadlines.start.clock) : nil
        try Failure.ofLibrary { () throws(TimerError) in
            try Thread.start("bare.\(loop)") {
                TimerSlack.nanoseconds = 1
                _ = try? thread.applyToCallingThread()
                Self.loop(probes, isStopped) { deadline in
                    if let timer {
                        timer.wait(until: deadline.nanoseconds)
                    } else {
                        deadline.clock.sleep(until: deadline.nanoseconds)
                    }
                }
                dismissed.wait()
            }
        }
    }

    func stop() {
        isStopped.set()
        dismissed.signal()
    }

    /// The work of the thread: one probe for each timer, all on one clock. It reads the flag after each wait.
    static func loop(
        _ probes: [Probe],
        _ isStopped: StopFlag,
        waitingBy wait: (TimerInstant) -> Void,
        readingBy now: (TimerClock) -> TimerInstant = { $0.now }
    ) {
        var queue = DeadlineHeap(probes.enumerated().map { ($1.nextDeadline.nanoseconds, $0) })
        var last: UInt64 = 0
        while let next = queue.first {
            let (probe, clock) = (probes[next.timer], probes[next.timer].deadlines.start.clock)
            // A deadline that had passed at the last reading is served without another wait, as the library does.
            if next.nanoseconds > last { wait(TimerInstant(nanoseconds: next.nanoseconds, clock: clock)) }
            if isStopped.isSet { return }
            let now = now(clock)
            last = now.nanoseconds
            let goesOn = probe.record(at: now, .deadlines)
            queue.replaceFirst(with: goesOn ? (probe.nextDeadline.nanoseconds, next.timer) : nil)
        }
    }
}

/// The timers of a bare loop by their next deadlines: a binary heap. It is not the library's queue, because a fault or
/// a cost of that queue must show in the library's rows only.
private struct DeadlineHeap {
    typealias Entry = (nanoseconds: UInt64, timer: Int)

    private var entries: [Entry]

    /// Sorted entries are a heap.
    init(_ entries: [Entry]) { self.entries = entries.sorted(by: <) }

    var first: Entry? { entries.first }

    /// Puts another entry in the place of the first; nil removes the first.
    mutating func replaceFirst(with other: Entry?) {
        guard let entry = other ?? entries.popLast(), !entries.isEmpty else { return }
        var place = 0
        while true {
            var child = 2 * place + 1
            if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
            guard child < entries.count, entries[child] < entry else { break }
            entries[place] = entries[child]
            place = child
        }
        entries[place] = entry
    }
}

/// Loops over `Task.sleep`, as one would write a repeating timer without the library: a task for each probe. They end
/// with `stop()`, and with this object. On the default executor they cannot fail.
final class TaskSleep: Ticking {
    enum Form: String, CaseIterable {
        /// Sleeps until start + k × period.
        case until = "task-sleep"
        /// Sleeps for a period, which most people write first. Each sleep begins when the one before it and the work
        /// have ended, so the loop is ever later than the grid that its writer had in mind.
        case forPeriod = "sleep-for"
        /// As `until`, on the library's executor and a hybrid service.
        case untilOnHybrid = "task-sleep-hybrid"
    }

    /// Why `Task.sleep` does not wait on a service; nil if it does.
    static var obstacleOnService: String? {
        #if compiler(>=6.3) && compiler(<6.4)
        nil
        #else
        "Task.sleep waits on a service only in a build with Swift 6.3"
        #endif
    }

    private let tasks: [Task<Void, Never>]
    /// Ends with the service, whose tasks then go on in other threads; nil on the default executor.
    private let witness: PreciseTimer?

    /// Starts the tasks on the default executor, or on the main actor.
    init(_ probes: [Probe], _ form: Form, deliver place: HandlerPlace) {
        witness = nil
        tasks = probes.map { probe in
            place == .main
                ? Task { @MainActor in await Self.run(probe, form, isolation: MainActor.shared) }
                : Task { await Self.run(probe, form, isolation: nil) }
        }
    }

    /// Starts the tasks on a service's thread.
    init(_ probes: [Probe], _ form: Form, on service: TimerService) throws(TimerError) {
        witness = try PreciseTimer.schedule(.onDemand, on: service) { _, _ in }
        let executor = TimerExecutor(on: service)
        tasks = probes.map { probe in
            Task(executorPreference: executor) { await Self.run(probe, form, isolation: nil) }
        }
    }

    deinit { stop() }

    private static func run(_ probe: Probe, _ form: Form, isolation: isolated (any Actor)?) async {
        let step = probe.deadlines.step
        var next = SuspendingClock.Instant(probe.deadlines.start)
        do {
            if form == .forPeriod { try await Task.sleep(until: next - step, clock: .suspending) }
            repeat {
                switch form {
                case .until, .untilOnHybrid: try await Task.sleep(until: next, clock: .suspending)
                case .forPeriod: try await Task.sleep(for: step)
                }
                next += step
            } while !Task.isCancelled && probe.record(at: TimerClock.suspending.now, .calls)
        } catch {}
    }

    var failure: (any Error)? {
        guard case .ended(.backendFailed(let error)) = witness?.state else { return nil }
        return error
    }

    func stop() { for task in tasks { task.cancel() } }
}

extension SuspendingClock.Instant {
    /// An instant of the kernel's clock on Swift's clock, whose origin is not public. The result is never early. It
    /// is late by at most the time between two readings.
    fileprivate init(_ instant: TimerInstant) {
        var shortest = UInt64.max
        var now = SuspendingClock.now
        var reading = TimerClock.suspending.now
        // The closest of ten pairs of readings: the time between the two would be lateness of all ticks.
        for _ in 0..<10 {
            let before = TimerClock.suspending.now
            let own = SuspendingClock.now
            let gap = TimerClock.suspending.now.nanoseconds - before.nanoseconds
            if gap < shortest { (shortest, now, reading) = (gap, own, before) }
        }
        self = now.advanced(by: reading.duration(to: instant))
    }
}

/// Tells a thread, a timer or a comparison to end.
final class StopFlag: Sendable {
    /// Releasing and acquiring: a thread that sees it set also sees what the setter has done before.
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
