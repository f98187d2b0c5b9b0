import Foundation
import PreciseTimer

/// The rows without a busy thread.
extension Rows {
    /// Each backend ticks on each of its clocks, never early, and counts each deadline. Foundation's timers stand still
    /// on a kernel without fine timers, so the run loop must be refused there.
    static func clocks() throws {
        for backend in TimerService.Backend.allCases where backend.availability != .available {
            say(false, "\(backend): \(backend.availability)")
        }
        if !System.hasFineTimers {
            refuses("runloop") { try TimerService(.runLoop) }
            refuses("a host's run loop") { try TimerService(attachedTo: RunLoop.current) }
        }
        for kind in Kind.all() where kind.backend != .runLoop || System.hasFineTimers {
            let (service, count, isOver) = (try kind.service(), Count(period), DispatchSemaphore(value: 0))
            let timer = try PreciseTimer.schedule(
                .every(period),
                on: service,
                handler: { _, tick in if count.note(tick).deadlines >= 60 { isOver.signal() } }
            )
            let ends = isOver.wait(timeout: .now() + 20) == .success
            let (state, end) = (timer.state, count.now)
            service.shutdown()
            let isKept = ends && state == .scheduled && end.faults.isEmpty
            say(isKept, "\(kind): \(end.deadlines) deadlines, \(end.ticks) ticks, \(state)\(end.fault)")
        }
    }

    /// The error names the reason.
    private static func refuses(_ name: String, _ start: () throws -> TimerService) {
        do {
            _ = try start().shutdown()
            say(false, "\(name) is not refused")
        } catch {
            say("\(error)".contains("resolution"), "\(name) is refused: \(error)")
        }
    }

    /// A service lists what it was asked for, and refusals of that alone.
    static func grants() throws {
        for backend in [TimerService.Backend.timerFD, .hybrid, .libevent, .runLoop] {
            let service = try TimerService(backend, thread: .realTime(priority: 80))
            let (found, isOver) = (Shared(""), DispatchSemaphore(value: 0))
            let timer = try PreciseTimer.schedule(.once(after: .zero), on: service) { _, _ in
                found.change { $0 = System.policy }
                isOver.signal()
            }
            _ = isOver.wait(timeout: .now() + 5)
            let (grant, policy) = (service.grant, found.value)
            timer.cancel()
            service.shutdown()
            // The deadlines of these two depend on a thread of such a kernel, which the grant has to tell.
            let needsAdvice = System.isRealTimeKernel && [.libevent, .runLoop].contains(backend)
            let isRight = needsAdvice ? grant.description.contains("ktimers") : grant.refusals.isEmpty
            let isListed = grant.items.contains { $0.option == .policy && $0.asked == "fifo:80" }
            let text = grant.items.map(\.description).joined(separator: "; ")
            say(isRight && isListed && policy == "fifo:80", "\(backend): has \(policy); \(text)")
        }
    }

    /// After a suspension, timers of the clocks that count it tick at once, and the suspension is told with its length.
    static func suspension() throws {
        let (period, told) = (Duration.milliseconds(100), Shared<[Duration]>([]))
        let kinds = Kind.all(of: [.timerFD])
        let services = try kinds.map { try $0.service() }
        let counts = kinds.map { _ in Count(period) }
        for (service, count) in zip(services, counts) {
            try PreciseTimer.schedule(.every(period), on: service, target: count) { $0.note($1) }
        }
        let suspensions = try services[0].suspensions
        Task.detached {
            for try await suspension in suspensions { told.change { $0.append(suspension.duration) } }
        }
        System.sleep(.seconds(1))
        let before = counts.map(\.now)
        let earlier = System.suspended
        _ = System.write("deep", to: "/sys/power/mem_sleep")
        _ = System.write("0", to: "/sys/class/rtc/rtc0/wakealarm")
        let errors = [
            System.write("+6", to: "/sys/class/rtc/rtc0/wakealarm"), System.write("mem", to: "/sys/power/state"),
        ]
        let length = System.suspended - earlier
        say(errors == [0, 0] && length > .seconds(1), "suspended for \(length.text), with errors \(errors)")
        System.sleep(.seconds(1))
        for (index, kind) in kinds.enumerated() {
            // Of those that pass within a second after it, half.
            let (end, expected) = (counts[index].now, kind.clock == .suspending ? 5 : Int(length / period) + 5)
            let deadlines = end.deadlines - before[index].deadlines
            let text = "\(deadlines) deadlines since, at least \(expected) expected, \(end.ticks) ticks\(end.fault)"
            say(deadlines >= expected && end.faults.isEmpty, "\(kind): \(text)")
        }
        var waited = 0
        while told.value.isEmpty, waited < 70 {
            System.sleep(.seconds(1))
            waited += 1
        }
        let (all, total) = (told.value, told.value.reduce(.zero, +))
        let isTold = (length - .milliseconds(10)...length + .milliseconds(10)).contains(total)
        say(isTold, "the service tells \(all.map(\.text)), \(waited + 1) s after it")
        for service in services { service.shutdown() }
    }
}

/// The rows beside a real-time thread of middle priority that is busy on processor 0.
extension Rows {
    /// An ordinary thread is interrupted, often while it holds the service's lock. It inherits the priority of a thread
    /// that waits for the lock. Otherwise that thread would wait until the busy thread sleeps.
    static func inheritance() throws {
        let (service, isOver, longest, rounds) = (try TimerService(.timerFD), Shared(false), Shared(Duration.zero), 30)
        let request = { @Sendable in
            let timer = try? PreciseTimer.schedule(.once(after: .seconds(60)), on: service) { _, _ in }
            timer?.cancel()
        }
        let holder = Helper(priority: nil) { while !isOver.value { request() } }
        System.sleep(.milliseconds(200))
        for _ in 0..<rounds {
            let (start, spin) = (System.after(.milliseconds(10)), Spin())
            let urgent = Helper(priority: 60) {
                System.sleep(until: start)
                while !spin.isOn { System.sleep(.milliseconds(1)) }
                System.sleep(.milliseconds(3))
                let asked = System.nanoseconds(.suspending)
                request()
                let took = Duration.nanoseconds(System.nanoseconds(.suspending) - asked)
                longest.change { $0 = max($0, took) }
            }
            let busy = spin.start(for: .milliseconds(200))
            urgent.wait()
            busy.wait()
            System.sleep(.milliseconds(20))
        }
        isOver.change { $0 = true }
        holder.wait()
        service.shutdown()
        let took = longest.value
        say(took < .milliseconds(100), "\(rounds) requests beside an interrupted thread, the longest took \(took.text)")
    }

    /// A real-time service gets what a thread without the library gets. A deadline that another thread sets meanwhile
    /// is served, too. The host may take a processor from the guest in the middle, so each kind has three rounds.
    static func besideASpin() throws {
        for kind in Kind.all(of: [.timerFD, .hybrid]) {
            for round in 1...3 {
                let outcome = try besideASpin(kind)
                if outcome.isKept || round == 3 { say(outcome.isKept, "\(outcome.text), round \(round)") }
                if outcome.isKept { break }
            }
        }
    }

    private static func besideASpin(_ kind: Kind) throws -> (isKept: Bool, text: String) {
        let options = TimerService.ThreadOptions(policy: .fifo(priority: 80), affinity: [0])
        let (spin, bare, latenesses) = (Spin(), Bare(), Shared<[Duration]>([]))
        let (service, other) = (try kind.service(options), try kind.service(options))
        let count = Count(period, beside: spin)
        try PreciseTimer.schedule(.every(period), on: service, target: count) { $0.note($1) }
        var timers = [try PreciseTimer.schedule(.once(after: .seconds(60)), on: other) { _, _ in }]
        let compared = bare.start(period, beside: spin)
        System.sleep(.milliseconds(300))
        let busy = spin.start(for: .milliseconds(800))
        for _ in 0..<8 {
            System.sleep(.milliseconds(60))
            timers.append(
                try PreciseTimer.schedule(.once(after: .milliseconds(20)), on: other) { _, tick in
                    latenesses.change { $0.append(tick.lateness) }
                }
            )
        }
        busy.wait()
        compared.wait()
        System.sleep(.milliseconds(100))
        let (end, all, most) = (count.now, latenesses.value, bare.besideSpin)
        let latest = all.max() ?? .zero
        service.shutdown()
        other.shutdown()
        let isServed = all.count == 8 && latest < .milliseconds(50) && end.faults.isEmpty
        let own = "\(end.besideSpin) ticks beside the spin, bare \(most), latest \(end.latest.text)"
        let set = "\(all.count) of 8 set by another thread, latest \(latest.text)"
        let isEqual = most > 40 && Double(end.besideSpin) >= Double(most) * 0.95
        return (isEqual && isServed, "\(kind): \(own); \(set)\(end.fault)")
    }

    /// A service that gets no processor, or whose kernel's timers do not expire, is late. It is not ended, and it
    /// counts every deadline.
    static func pinned() throws {
        let options = TimerService.ThreadOptions(affinity: [0])
        let kinds = Kind.all().filter { $0.backend != .dispatch } + Kind.all(of: [.dispatch])
        let counts = kinds.map { _ in Count(period) }
        var running: [(service: TimerService, timer: PreciseTimer)] = []
        for (kind, count) in zip(kinds, counts) {
            // A queue cannot be pinned, but its threads inherit the processors of the thread that starts them. The
            // library's other threads, such as its watchdog, have started by then, on processor 1.
            if kind.backend == .dispatch { try System.pinMainThread(to: 0) }
            let service = try kind.service(kind.backend == .dispatch ? TimerService.ThreadOptions() : options)
            let timer = try PreciseTimer.schedule(.every(period), on: service, target: count) { $0.note($1) }
            running.append((service, timer))
        }
        System.sleep(.seconds(1))
        try System.pinMainThread(to: 1)
        System.sleep(.seconds(1))
        let before = counts.map(\.now)
        Spin().start(for: .seconds(12)).wait()
        let after = counts.map(\.now)
        System.sleep(.seconds(3))
        for (index, kind) in kinds.enumerated() {
            let (state, end) = (running[index].timer.state, counts[index].now)
            let isKept = state == .scheduled && end.ticks > after[index].ticks && end.faults.isEmpty
            let counted = (after[index].deadlines - before[index].deadlines, end.ticks - after[index].ticks)
            let text = "\(counted.0) deadlines in the spin's 12 s, \(counted.1) ticks after it"
            say(isKept, "\(kind): \(text), \(state)\(end.fault)")
        }
        for (service, _) in running { service.shutdown() }
    }
}
