internal import HeapModule
package import TimerAlarms
package import TimerCore

/// The thread of a reference: waits for one deadline after the other, always the earliest of all timers.
///
/// Deadlines that have passed at a look at the clock are found by division, and the next is the first future one, as in the
/// library.
package final class ReferenceLoop: Ticking {
    private let isStopped = Lock(false)

    /// Starts the thread.
    init(_ reference: Reference, _ probes: [Probe]) throws(TimerError) {
        let isStopped = isStopped
        switch reference {
        case .nanosleep:
            try Thread.start("floor.nanosleep") {
                KernelClock.setTimerSlack(nanoseconds: 1)
                Self.loop(probes, isStopped) { KernelClock.sleep(until: $0) }
            }
        case .timerFD:
            let descriptor = try DescriptorBox(probes[0].deadlines.start.clock)
            try Thread.start("floor.timerfd") {
                Self.loop(probes, isStopped) { descriptor.wait(until: $0) }
            }
        }
    }

    /// A refusal shows as a row that falls silent or ticks early, which is reported.
    package var failure: TimerError? { nil }

    package func stop() { isStopped.withLock { $0 = true } }

    /// What a thread does.
    ///
    /// - Parameters:
    ///   - probes: one for each timer, all on one clock.
    ///   - isStopped: looked at after each wait.
    ///   - wait: waits for a deadline.
    ///   - now: reads the clock of the deadlines.
    package static func loop(
        _ probes: [Probe],
        _ isStopped: Lock<Bool>,
        waitingBy wait: (TimerInstant) -> Void,
        readingBy now: (TimerClock) -> TimerInstant = KernelClock.now
    ) {
        // Not the library's queue: none of the library is in a floor.
        var queue = Heap(probes.enumerated().map { Next(nanoseconds: $1.nextDeadline.nanoseconds, timer: $0) })
        while let next = queue.min {
            let probe = probes[next.timer]
            wait(TimerInstant(nanoseconds: next.nanoseconds, clock: probe.deadlines.start.clock))
            if isStopped.withLock({ $0 }) { return }
            if probe.record(at: now(probe.deadlines.start.clock), .deadlines) {
                queue.replaceMin(with: Next(nanoseconds: probe.nextDeadline.nanoseconds, timer: next.timer))
            } else {
                queue.removeMin()
            }
        }
    }

    /// A timer's next deadline.
    private struct Next: Comparable {
        let nanoseconds: UInt64
        let timer: Int

        static func < (first: Next, second: Next) -> Bool {
            (first.nanoseconds, first.timer) < (second.nanoseconds, second.timer)
        }
    }
}

/// Holds a descriptor for a closure, which cannot capture a value that is not copyable.
private final class DescriptorBox: Sendable {
    private let descriptor: TimerDescriptor

    init(_ clock: TimerClock) throws(TimerError) { descriptor = try TimerDescriptor(clock) }

    func wait(until deadline: TimerInstant) {
        do throws(TimerError) {
            repeat {
                try descriptor.set(deadline)
                try descriptor.wait()
                // A step of the wall clock ends the wait, too.
            } while KernelClock.now(deadline.clock) < deadline
        } catch {
            // Refused: the tick comes early, which is seen.
        }
    }
}
