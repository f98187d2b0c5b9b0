import Dispatch
import PreciseTimer
import TimerKernel

/// The present timers, each in a slot that one thread fills and any thread may disturb.
final class Stock: Sendable {
    /// A timer, and the objects that keep it alive.
    struct Content: Sendable {
        let subject: Subject
        /// Nil if the handle was dropped.
        var timer: PreciseTimer?
        /// The target or actor; nil if the handle is the target, or the target was released.
        var target: (any AnyObject & Sendable)?
        let hasTarget: Bool
        weak let capture: Capture?
        let clock: TimerClock
        let policy: PreciseTimer.MissedTickPolicy
    }

    let services: Services
    let tally: Tally
    let bag = TimerBag()
    private let slots: [Lock<Content?>]
    private let serial = (0..<4).map { DispatchQueue(label: "soak.serial.\($0)") }
    private let concurrent = DispatchQueue(label: "soak.concurrent", attributes: .concurrent)

    init(count: Int, _ services: Services, _ tally: Tally) {
        self.services = services
        self.tally = tally
        slots = (0..<count).map { _ in Lock(nil) }
    }

    var count: Int { slots.count }

    subscript(index: Int) -> Content? {
        get { slots[index].withLock { $0 } }
        set {
            // The former content is released outside the lock.
            _ = slots[index]
                .withLock { content in
                    defer { content = newValue }
                    return content
                }
        }
    }

    /// Releases the target of a slot's timer.
    func releaseTarget(of index: Int) {
        guard let content = self[index], content.target != nil else { return }
        content.subject.note(.targetReleased)
        _ = slots[index]
            .withLock { slot in
                guard slot?.subject === content.subject else { return Optional<any AnyObject & Sendable>.none }
                defer { slot?.target = nil }
                return slot?.target
            }
    }

    /// Puts a new random timer into a slot; nothing if its service was shut down meanwhile.
    func fill(_ index: Int, _ random: inout SeededGenerator) {
        let entry = services.random(&random)
        let policy = Timing.randomPolicy(&random)
        let timing = Timing(now: entry.service.now, policy: policy, mayEnd: true, mayRest: true, &random)
        let isPaused = Int.random(in: 0..<20, using: &random) == 0
        let kind = Int.random(in: 0..<6, using: &random)
        let subject = Subject("timer \(index), delivery \(kind)", timing, isPaused: isPaused, fate: entry.fate, tally)
        do throws(TimerError) {
            self[index] = try make(subject, timing, kind, entry, isPaused, &random)
            tally.scheduled.add(1)
        } catch {
            self[index] = nil
            tally.refused.add(1)
            if error.code != .shutDown { tally.violate("a timer that makes sense is accepted", "\(error)") }
        }
    }

    private func make(
        _ subject: Subject,
        _ timing: Timing,
        _ kind: Int,
        _ entry: Services.Entry,
        _ isPaused: Bool,
        _ random: inout SeededGenerator
    ) throws(TimerError) -> Content {
        let capture = Capture(subject, tally)
        let tolerance: Duration =
            Bool.random(using: &random) ? .zero : .milliseconds(Int.random(in: 0..<20, using: &random))
        let delivery: PreciseTimer.Delivery =
            switch kind {
            case 0, 1: .inline
            case 2: .queue(serial[Int.random(in: 0..<4, using: &random)])
            case 3: .queue(concurrent)
            default: .queue(.main)
            }
        let onEnd = { @Sendable (reason: PreciseTimer.EndReason) in subject.ended(reason) }
        var timer: PreciseTimer
        var target: (any AnyObject & Sendable)?
        let isHandle = kind != 5 && Int.random(in: 0..<3, using: &random) == 0
        if kind == 5 {
            let actor = ActorTarget(tally)
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: entry.service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                target: actor,
                onEnd: onEnd
            ) { actor, tick async in
                capture.subject.begin(tick)
                capture.subject.work()
                actor.tick()
                if tick.index % 8 == 7 { await Task.yield() }
                capture.subject.end(tick)
            }
            target = actor
        } else if isHandle {
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: entry.service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                deliver: delivery,
                onEnd: onEnd
            ) { timer, tick in
                capture.subject.begin(tick)
                capture.subject.work()
                if tick.index % 64 == 63 {
                    capture.subject.note(.cancelled)
                    timer.cancelAndWait()
                }
                capture.subject.end(tick)
            }
        } else {
            let object = Target(tally)
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: entry.service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                deliver: delivery,
                target: object,
                onEnd: onEnd
            ) { _, tick in
                capture.subject.begin(tick)
                capture.subject.work()
                capture.subject.end(tick)
            }
            target = object
        }
        // The deadlines that the subject expects stay where they are.
        if isPaused { timer.pause(keeping: .grid) }
        return Content(
            subject: subject,
            timer: timer,
            target: target,
            hasTarget: !isHandle,
            capture: capture,
            clock: entry.service.now.clock,
            policy: timing.policy
        )
    }

    /// A service with a few timers that end by themselves; it is shut down or released at once. Returns their target,
    /// which the caller must hold for two seconds.
    func visit(_ random: inout SeededGenerator) -> Target? {
        guard let entry = try? services.transient(&random) else { return nil }
        let target = Target(tally)
        for number in 0..<16 {
            let timing = Timing(now: entry.service.now, policy: .skip, mayEnd: true, &random)
            guard case .once = timing.epoch.rhythm else { continue }
            let subject = Subject("visitor \(number)", timing, isPaused: false, fate: entry.fate, tally)
            subject.note(.targetReleased)
            let capture = Capture(subject, tally)
            let timer = try? PreciseTimer.schedule(
                timing.schedule,
                on: entry.service,
                target: target,
                onEnd: { subject.ended($0) },
                handler: { _, tick in
                    capture.subject.begin(tick)
                    capture.subject.end(tick)
                }
            )
            if timer != nil { tally.scheduled.add(1) }
        }
        if Bool.random(using: &random) {
            entry.fate.isShutDown = true
            entry.service.shutdown()
        }
        return target
    }
}
