import PreciseTimer
import TimerKernel

/// The random operations of one thread on the timers, until it is told to stop.
struct Churn {
    private let stock: Stock
    private let thread: Int
    private let threads: Int
    private var random: SeededGenerator
    /// The slot that was refilled last.
    private var position: Int
    /// The targets of timers on released services, and when to release those targets.
    private var visitors: [(until: TimerInstant, target: Target)] = []

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
        let subject = content.subject
        guard let timer = content.timer else {
            stock.releaseTarget(of: index)
            return
        }
        switch roll(6) {
        case 0:
            subject.note(.cancelled)
            timer.cancel()
        case 1:
            subject.note(.cancelled)
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
            subject.note(.cancelled)
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
            subject.note(.cancelled)
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
