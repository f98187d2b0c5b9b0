import Foundation
import PreciseTimer

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
