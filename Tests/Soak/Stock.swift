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
        // What may be the last reference is released outside the lock.
        withExtendedLifetime(content) {
            slots[index].withLock { if $0?.subject === content.subject { $0?.target = nil } }
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
        let (capture, service) = (Capture(subject), entry.service)
        let tolerance = Duration.milliseconds(max(0, .random(in: -20..<20, using: &random)))
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
        if kind == 5 {
            let actor = ActorTarget(tally)
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                target: actor,
                onEnd: onEnd
            ) { actor, tick async in
                capture.subject.begin(tick)
                actor.tick()
                if tick.index % 8 == 7 { await Task.yield() }
                capture.subject.end(tick)
            }
            target = actor
        } else if Int.random(in: 0..<3, using: &random) == 0 {
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                deliver: delivery,
                onEnd: onEnd
            ) { timer, tick in
                capture.subject.begin(tick)
                if tick.index % 64 == 63 {
                    capture.subject.note(.cancelled)
                    timer.cancelAndWait()
                }
                capture.subject.end(tick)
            }
        } else {
            let object = Life(tally.targets)
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                deliver: delivery,
                target: object,
                onEnd: onEnd
            ) { _, tick in
                capture.subject.begin(tick)
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
            hasTarget: target != nil,
            capture: capture,
            clock: entry.service.now.clock,
            policy: timing.policy
        )
    }

    /// A service with a few timers that end by themselves; it is shut down or released at once. Returns their target,
    /// which the caller must hold for two seconds.
    func visit(_ random: inout SeededGenerator) -> Life? {
        guard let entry = try? services.transient(&random) else { return nil }
        let target = Life(tally.targets)
        for number in 0..<16 {
            let timing = Timing(now: entry.service.now, policy: .skip, mayEnd: true, &random)
            guard case .once = timing.epoch.rhythm else { continue }
            let subject = Subject("visitor \(number)", timing, isPaused: false, fate: entry.fate, tally)
            subject.note(.targetReleased)
            let capture = Capture(subject)
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

/// The random operations of one thread on the timers, until it is told to stop.
struct Churn {
    private let stock: Stock
    private let thread: Int
    private let threads: Int
    private var random: SeededGenerator
    /// The slot that was refilled last.
    private var position: Int
    /// The targets of timers on released services, and when to release those targets.
    private var visitors: [(until: TimerInstant, target: Life)] = []

    init(_ stock: Stock, thread: Int, of threads: Int, seed: UInt64) {
        self.stock = stock
        self.thread = thread
        self.threads = threads
        position = thread
        random = SeededGenerator(seed: seed &+ UInt64(thread) &* 0x9e37)
    }

    private var tally: Tally { stock.tally }

    /// Fills this thread's slots.
    mutating func fill() {
        for index in stride(from: thread, to: stock.count, by: threads) { stock.fill(index, &random) }
    }

    /// Performs four operations: some 2,000 a second.
    mutating func turn() {
        refill()
        for _ in 0..<4 {
            operate()
            tally.operations.add(1)
        }
        if roll(1_000) == 0 { visit() }
        if roll(1_500) == 0 { renew() }
        KernelClock.sleep(for: .milliseconds(2))
    }

    /// Replaces ended timers in the next slots, so that each slot is visited every second or so.
    private mutating func refill() {
        for _ in 0..<16 {
            position = position + threads < stock.count ? position + threads : thread
            if stock[position]?.subject.hasEnded != false { stock.fill(position, &random) }
        }
    }

    private mutating func operate() {
        if roll(10) == 0 { return disturb(roll(stock.count)) }
        let index = roll((stock.count - thread + threads - 1) / threads) * threads + thread
        guard let content = stock[index], !content.subject.hasEnded else { return stock.fill(index, &random) }
        switch roll(20) {
        case 0..<2: replace(index, content)
        case 2..<5: reschedule(content)
        case 5..<7: pause(content)
        case 7..<11: resume(content)
        case 11..<14: if content.subject.mayFire() { content.timer?.fire() }
        default: read(content)
        }
    }

    /// The operations that any thread may perform on a timer.
    private mutating func disturb(_ index: Int) {
        switch roll(4) {
        case 0: stock.releaseTarget(of: index)
        case 1:
            guard let content = stock[index], let timer = content.timer else { return }
            content.subject.note(.cancelled)
            timer.cancel()
        default: if let content = stock[index] { read(content) }
        }
    }

    private mutating func read(_ content: Stock.Content) {
        guard let timer = content.timer else { return }
        switch roll(6) {
        case 0..<3: _ = timer.state
        case 3: _ = timer.nextDeadline
        case 4: _ = timer.period
        default:
            if roll(200) == 0 { _ = stock.services.random(&random).service.activeTimers.count }
            if roll(200) == 0 { _ = stock.bag.count }
        }
    }

    /// Ends a timer in a random way, and puts another one in its place.
    private mutating func replace(_ index: Int, _ content: Stock.Content) {
        let (subject, way) = (content.subject, roll(6))
        guard let timer = content.timer else { return stock.releaseTarget(of: index) }
        if [0, 1, 2, 5].contains(way) { subject.note(.cancelled) }
        switch way {
        case 0: timer.cancel()
        case 1:
            if subject.mayFire() {
                timer.fire()
                KernelClock.sleep(for: .microseconds(roll(200)))
            }
            let isEnding = timer.cancelAndWait()
            subject.cancelledAndWaited()
            if isEnding, content.capture != nil {
                tally.violate("captures are released by cancelAndWait", subject.name)
            }
        case 2:
            timer.store(in: stock.bag, named: "a")
            stock.bag.cancel("a")
        case 3 where content.hasTarget: stock.releaseTarget(of: index)
        case 4 where content.hasTarget:
            // Without its handle the timer goes on until its target is released.
            var content = content
            content.timer = nil
            stock[index] = content
            return
        case 5:
            if content.hasTarget { subject.note(.targetReleased) }
            timer.store(in: stock.bag)
            if roll(50) == 0 { stock.bag.cancelAll() }
        default: subject.note(.handleReleased)
        }
        stock.fill(index, &random)
    }

    private mutating func reschedule(_ content: Stock.Content) {
        guard let timer = content.timer else { return }
        let now = content.clock.now
        let timing = Timing(now: now, policy: content.policy, mayEnd: false, mayRest: true, &random)
        content.subject.reschedule(timing) { () throws(TimerError) in try timer.reschedule(timing.schedule) }
    }

    private func pause(_ content: Stock.Content) {
        content.subject.isPaused = true
        content.timer?.pause(keeping: .grid)
    }

    private func resume(_ content: Stock.Content) {
        guard let timer = content.timer else { return }
        timer.resume()
        content.subject.isPaused = false
    }

    private mutating func visit() {
        let now = TimerClock.suspending.now
        visitors.removeAll { $0.until < now }
        if let target = stock.visit(&random) { visitors.append((now.advanced(by: .seconds(6)), target)) }
    }

    private mutating func renew() {
        do throws(TimerError) {
            try stock.services.renew(&random)
        } catch {
            tally.violate("a service can be made", "\(error)")
        }
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
}
