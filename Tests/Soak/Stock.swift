import Dispatch
import PreciseTimer
import TestSupport
import TimerKernel

/// The present timers, each in a slot that one thread fills.
final class Stock: Sendable {
    /// A timer, and the objects that keep it alive.
    struct Content: Sendable {
        let subject: Subject
        /// Nil if the handle was dropped.
        var timer: PreciseTimer?
        /// The target or actor; nil if the handle is the target.
        let target: (any AnyObject & Sendable)?
        let clock: TimerClock
        let policy: PreciseTimer.MissedTickPolicy
    }

    let services: Services
    let tally: Tally
    private let slots: [Lock<Content?>]
    private let serial = (0..<4).map { DispatchQueue(label: "soak.serial.\($0)") }
    private let concurrent = DispatchQueue(label: "soak.concurrent", attributes: .concurrent)

    init(count: Int, _ services: Services, _ tally: Tally) {
        (self.services, self.tally) = (services, tally)
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

    /// Puts a new random timer into a slot; nothing if its service was shut down meanwhile.
    func fill(_ index: Int, _ random: inout SeededGenerator) {
        let service = services.random(&random)
        let timing = Timing(now: service.now, policy: Timing.randomPolicy(&random), &random)
        let isPaused = Int.random(in: 0..<20, using: &random) == 0
        let kind = Int.random(in: 0..<8, using: &random)
        let subject = Subject("timer \(index), kind \(kind)", timing, isPaused: isPaused, tally)
        self[index]?.subject.doom()
        do throws(TimerError) {
            self[index] = try make(subject, timing, kind, on: service, &random)
            tally.scheduled.add(1)
            // The deadlines that the subject expects stay where they are.
            if isPaused { self[index]?.timer?.pause(keeping: .grid) }
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
        on service: TimerService,
        _ random: inout SeededGenerator
    ) throws(TimerError) -> Content {
        let capture = Life(tally.captures)
        let tolerance = Duration.milliseconds(max(0, .random(in: -20..<20, using: &random)))
        let delivery: PreciseTimer.Delivery =
            switch kind {
            case 0, 1: .inline
            case 2: .queue(serial[Int.random(in: 0..<4, using: &random)])
            case 3: .queue(concurrent)
            default: .queue(.main)
            }
        let onEnd = { @Sendable (reason: PreciseTimer.EndReason) in subject.ended(reason) }
        let timer: PreciseTimer
        var target: (any AnyObject & Sendable)?
        switch kind {
        case 5:
            let actor = ActorTarget(tally)
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                target: actor,
                onEnd: onEnd
            ) { actor, tick async in
                withExtendedLifetime(capture) { subject.begin(tick) }
                actor.ticks += 1
                if tick.index % 8 == 7 { await Task.yield() }
                subject.end(tick)
            }
            target = actor
        case 6, 7:
            timer = try PreciseTimer.schedule(
                timing.schedule,
                on: service,
                tolerance: tolerance,
                missedTicks: timing.policy,
                deliver: kind == 6 ? .inline : .queue(concurrent),
                onEnd: onEnd
            ) { timer, tick in
                withExtendedLifetime(capture) { subject.begin(tick) }
                if tick.index % 64 == 63 { timer.cancelAndWait() }
                subject.end(tick)
            }
        default:
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
                withExtendedLifetime(capture) { subject.begin(tick) }
                subject.end(tick)
            }
            target = object
        }
        return Content(subject: subject, timer: timer, target: target, clock: service.now.clock, policy: timing.policy)
    }
}

/// The random operations of one thread on its own timers, until it is told to stop.
struct Churn {
    private let stock: Stock
    private let slots: [Int]
    private var random: SeededGenerator
    private var turns = 0

    init(_ stock: Stock, thread: Int, of threads: Int, seed: UInt64) {
        self.stock = stock
        slots = Array(stride(from: thread, to: stock.count, by: threads))
        random = SeededGenerator(seed: seed &+ UInt64(thread) &* 0x9e37)
    }

    /// Fills this thread's slots.
    mutating func fill() { for index in slots { stock.fill(index, &random) } }

    /// Replaces ended timers in the next slots, so that each is visited every second or so, and performs four
    /// operations: some 2,000 a second.
    mutating func turn() {
        for _ in 0..<16 {
            turns += 1
            let index = slots[turns % slots.count]
            if stock[index]?.subject.hasEnded != false { stock.fill(index, &random) }
        }
        for _ in 0..<4 {
            operate(on: slots[roll(slots.count)])
            stock.tally.operations.add(1)
        }
        if roll(1_500) == 0 { stock.services.renew(&random) }
        KernelClock.sleep(for: .milliseconds(2))
    }

    private mutating func operate(on index: Int) {
        guard var content = stock[index], let timer = content.timer else { return stock.fill(index, &random) }
        let subject = content.subject
        switch roll(16) {
        case 0:
            subject.doom()
            timer.cancel()
        case 1:
            subject.doom()
            timer.cancelAndWait()
        // Releases the handle and the target.
        case 2: stock.fill(index, &random)
        // Without its handle, the timer goes on until its target is released.
        case 3 where content.target != nil:
            content.timer = nil
            stock[index] = content
        case 4..<7:
            let timing = Timing(now: content.clock.now, policy: content.policy, &random)
            subject.reschedule(timing)
            // It may have ended.
            try? timer.reschedule(timing.schedule)
        case 7, 8:
            subject.pause(true)
            timer.pause(keeping: .grid)
        case 9..<13:
            timer.resume()
            subject.pause(false)
        default: timer.fire()
        }
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
}

/// The services that the timers use: the shared ones, and own ones that come and go.
final class Services: Sendable {
    private let shared = TimerService.Backend.available.map(\.shared)
    private let own: Lock<[TimerService]>
    private let tally: Tally

    init(_ tally: Tally) throws(TimerError) {
        self.tally = tally
        var own: [TimerService] = []
        for (backend, clock) in Self.choices { own.append(try TimerService(backend, clock: clock)) }
        self.own = Lock(own)
    }

    /// Each backend, on each of its clocks.
    private static var choices: [(TimerService.Backend, TimerClock)] {
        TimerService.Backend.available.flatMap { backend in backend.clocks.map { (backend, $0) } }
    }

    func random(_ random: inout some RandomNumberGenerator) -> TimerService {
        let own = own.withLock { $0 }
        let index = Int.random(in: 0..<own.count + shared.count, using: &random)
        return index < own.count ? own[index] : shared[index - own.count]
    }

    /// A service that only the caller knows. What uses it keeps it.
    func another(_ random: inout some RandomNumberGenerator) throws(TimerError) -> TimerService {
        let (backend, clock) = Self.choices[Int.random(in: 0..<Self.choices.count, using: &random)]
        tally.servicesMade.add(1)
        return try TimerService(backend, clock: clock)
    }

    /// Shuts a service down while timers use it. A new service replaces an own one.
    func renew(_ random: inout some RandomNumberGenerator) {
        let index = Int.random(in: 0..<Self.choices.count, using: &random)
        let (backend, clock) = Self.choices[index]
        do throws(TimerError) {
            let new = try TimerService(backend, clock: clock)
            tally.servicesMade.add(1)
            let former = own.withLock { own in
                defer { own[index] = new }
                return own[index]
            }
            former.shutdown()
        } catch { tally.violate("a service can be made", "\(error)") }
        // Rarely, because a shared service has a large part of all timers.
        if Int.random(in: 0..<20, using: &random) == 0 { shared.randomElement(using: &random)?.shutdownForEveryone() }
    }

    func shutDownAll() { for service in own.withLock({ $0 }) + shared { service.shutdownForEveryone() } }
}

/// An actor as a target.
actor ActorTarget {
    var ticks = 0
    private let life: Life

    init(_ tally: Tally) { life = Life(tally.targets) }
}
