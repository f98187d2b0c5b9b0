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
