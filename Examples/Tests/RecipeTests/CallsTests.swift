import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import Synchronization
import Testing

// Of the recipes: "Time-out of an operation", "A limit of concurrent calls", "A token bucket", "A lease that expires",
// and a debouncer in a property.

struct Busy: Error {}

/// The answer of a call that may hang, and that no cancellation ends.
func answer<Value: Sendable>(
    within limit: Duration,
    on service: TimerService = .default,
    of call: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let (values, sender) = AsyncThrowingStream<Value, any Error>.makeStream()
    let task = Task {
        do {
            sender.yield(try await call())
            sender.finish()
        } catch {
            sender.finish(throwing: error)
        }
    }
    defer { task.cancel() }
    return try await withTimeout(limit, on: service) {
        for try await value in values { return value }
        throw CancellationError()
    }
}

/// At most so many calls at once. The others wait for their turn, in order.
actor Limiter {
    private let service: TimerService
    private var free: Int
    private var queue: [(number: Int, turn: CheckedContinuation<Void, any Error>)] = []
    private var last = 0

    init(_ limit: Int, on service: TimerService = .default) { (free, self.service) = (limit, service) }

    /// The calls that wait for their turn.
    var waiting: Int { queue.count }

    func run<Value: Sendable>(
        atMost wait: Duration,
        _ call: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withTimeout(wait, on: service) { try await takeTurn() }
        defer { passOn() }
        return try await call()
    }

    private func takeTurn() async throws {
        try Task.checkCancellation()
        if free > 0 {
            free -= 1
            return
        }
        last += 1
        let number = last
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { queue.append((number, $0)) }
        } onCancel: {
            Task { await giveUp(number) }
        }
    }

    private func giveUp(_ number: Int) {
        guard let place = queue.firstIndex(where: { $0.number == number }) else { return }
        queue.remove(at: place).turn.resume(throwing: CancellationError())
    }

    private func passOn() { if queue.isEmpty { free += 1 } else { queue.removeFirst().turn.resume() } }
}

/// So many tokens a second, and a supply of at most `burst`. No timer fills it: the clock says how many there are.
actor TokenBucket {
    private let service: TimerService
    private let interval: Duration
    private let supply: Duration
    /// When the bucket would be full if no token were taken from now on.
    private var full: TimerInstant

    init(_ rate: Int, per length: Duration = .seconds(1), burst: Int, on service: TimerService = .default) {
        (self.service, interval, full) = (service, length / rate, service.now)
        supply = interval * burst
    }

    /// Takes a token, and waits for it if there is none. Callers get theirs in order.
    func take() async throws {
        full = max(full, service.now).advanced(by: interval)
        let due = full.advanced(by: .zero - supply)
        if due > service.now { try await service.clock.sleep(until: due) }
    }
}

/// Saves a moment after the last change. The type of a debouncer does not name that of its target.
@MainActor final class Editor {
    private(set) var saves = 0
    private var saving: Debouncer?

    init(on service: TimerService = .default) throws {
        saving = try Debouncer(.milliseconds(300), on: service, target: self) { @MainActor in $0.saves += 1 }
    }

    func change() { saving?() }
}

struct CallsTests {
    private let virtual = VirtualTime()

    /// A call that returns when the test says so, whatever its task's cancellation says.
    private actor Stubborn {
        private var waiting: [CheckedContinuation<String, Never>] = []

        func answer(_ name: String) async -> String { await withCheckedContinuation { waiting.append($0) } }

        func release(_ text: String) {
            for one in waiting { one.resume(returning: text) }
            waiting = []
        }
    }

    @Test func theCallerGoesOnAtTheDeadlineAlthoughTheCallHangs() async throws {
        let (stubborn, service) = (Stubborn(), virtual.service)
        let asking = Task {
            try await answer(within: .seconds(2), on: service) { await stubborn.answer("example.org") }
        }
        while virtual.pendingCount == 0 { await virtual.settle() }
        await virtual.advance(by: .seconds(2))
        await #expect(throws: TimeoutError.self) { try await asking.value }
        await stubborn.release("too late")
    }

    @Test func anAnswerInTimeAndAnErrorComeOutAsThemselves() async throws {
        let service = virtual.service
        #expect(try await answer(within: .seconds(2), on: service) { "it is here" } == "it is here")
        await #expect(throws: Busy.self) { try await answer(within: .seconds(2), on: service) { throw Busy() } }
        #expect(virtual.pendingCount == 0)
    }

    // MARK: The limiter

    /// Makes a call of ten seconds, and notes the second at which it ends.
    private func call(_ limiter: Limiter, _ name: String, atMost wait: Int, _ ends: TickTimes) async throws {
        try await limiter.run(atMost: .seconds(wait)) { [virtual] in
            try await virtual.clock.sleep(for: .seconds(10))
            await ends.note(name)
        }
    }

    private actor TickTimes {
        private let virtual: VirtualTime
        private let start: TimerInstant
        private(set) var all: [String] = []

        init(_ virtual: VirtualTime) { (self.virtual, start) = (virtual, virtual.now) }

        func note(_ name: String) { all.append("\(name) at \(start.duration(to: virtual.now) / .seconds(1))") }
    }

    @Test func callsBeyondTheLimitWaitForTheirTurnInOrder() async throws {
        let (limiter, ends) = (Limiter(2, on: virtual.service), TickTimes(virtual))
        try await virtual.run { [self] in
            try await withThrowingTaskGroup { calls in
                for name in ["a", "b", "c", "d", "e"] {
                    calls.addTask { try await call(limiter, name, atMost: 60, ends) }
                    try await virtual.clock.sleep(for: .seconds(1))
                }
                #expect(await limiter.waiting == 3)
                try await calls.waitForAll()
            }
        }
        #expect(await ends.all == ["a at 10.0", "b at 11.0", "c at 20.0", "d at 21.0", "e at 30.0"])
    }

    @Test func aCallThatWaitsTooLongOrIsCancelledLeavesTheQueueAndTakesNoTurn() async throws {
        let (limiter, ends, start) = (Limiter(1, on: virtual.service), TickTimes(virtual), virtual.now)
        let seconds = { start.advanced(by: .seconds($0)) }
        let ask = { name, wait in Task { try await call(limiter, name, atMost: wait, ends) } }
        let first = ask("first", 1)
        await settle { virtual.nextDeadline == seconds(10) }
        let (late, cancelled, patient) = (ask("late", 9), ask("cancelled", 60), ask("patient", 60))
        await settle { await limiter.waiting == 3 && virtual.pendingCount == 4 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await virtual.advance(by: .seconds(9))
        await #expect(throws: TimeoutError.self) { try await late.value }
        #expect(await limiter.waiting == 1)
        await virtual.advance(by: .seconds(1))
        try await first.value
        await settle { virtual.nextDeadline == seconds(20) }
        await virtual.advance(by: .seconds(10))
        try await patient.value
        #expect(await ends.all == ["first at 10.0", "patient at 20.0"])
        #expect(virtual.pendingCount == 0)
    }

    /// Lets tasks go on, while time stands still, until a condition holds.
    private func settle(until condition: () async -> Bool) async {
        while !(await condition()) { await virtual.settle() }
    }

    // MARK: The scraper

    private actor Scraper {
        private let virtual: VirtualTime
        private(set) var (begun, running, most, returned) = (0, 0, 0, 0)
        private(set) var isClosing = false

        init(_ virtual: VirtualTime) { self.virtual = virtual }

        func close() { isClosing = true }

        /// The third scrape of each ten hangs.
        func scrape(_ number: Int) async throws {
            (begun, running) = (begun + 1, running + 1)
            most = max(most, running)
            defer { (running, returned) = (running - 1, returned + 1) }
            try await virtual.clock.sleep(for: .seconds(number % 10 == 3 ? 3_600 : 1))
        }
    }

    @Test func aScraperKeepsItsLimitAndBeginsNothingAtItsEnd() async throws {
        let (service, limiter, timers, scraper) = (
            virtual.service, Limiter(2, on: virtual.service), TimerBag(), Scraper(virtual)
        )
        let failures = TickTimes(virtual)
        let schedule = PreciseTimer.Schedule.every(.seconds(30), after: .zero, spread: .seconds(30))
        let note = { @Sendable (_: Scraper, _: any Error) async in await failures.note("late") }
        for number in 0..<12 {
            try PreciseTimer.schedule(schedule, on: service, target: scraper, onError: note) { scraper, _ in
                if scraper.isClosing { return }
                try await limiter.run(atMost: .seconds(20)) {
                    try await withTimeout(.seconds(2), on: service) { try await scraper.scrape(number) }
                }
            }
            .store(in: timers)
        }
        await virtual.advance(by: .seconds(60))
        #expect(await scraper.most == 2)
        #expect(await scraper.begun >= 12)
        #expect(await !failures.all.isEmpty)
        await scraper.close()
        let begun = await scraper.begun
        try await virtual.run { try await timers.finishAll() }
        #expect(await scraper.returned == scraper.begun)
        #expect(await scraper.begun - begun <= 12, "those that had waited for their turn")
        #expect(virtual.pendingCount == 0)
    }

    // MARK: The token bucket

    /// When each of so many tokens is taken.
    private func takings(_ count: Int, from bucket: TokenBucket) async throws -> [String] {
        let times = TickTimes(virtual)
        try await virtual.run {
            for number in 1...count {
                try await bucket.take()
                await times.note("\(number)")
            }
        }
        return await times.all
    }

    @Test func aBucketGivesItsSupplyAtOnceAndThenATokenAtATime() async throws {
        let times = try await takings(6, from: TokenBucket(10, burst: 3, on: virtual.service))
        #expect(times == ["1 at 0.0", "2 at 0.0", "3 at 0.0", "4 at 0.1", "5 at 0.2", "6 at 0.3"])
    }

    @Test func aBucketThatRestsIsFullAndNoMoreThanThat() async throws {
        let bucket = TokenBucket(10, burst: 3, on: virtual.service)
        await virtual.advance(by: .seconds(60))
        #expect(virtual.pendingCount == 0, "no timer fills it")
        #expect(try await takings(4, from: bucket) == ["1 at 0.0", "2 at 0.0", "3 at 0.0", "4 at 0.1"])
    }

    // MARK: A lease

    private actor Registry {
        private let losses: Set<Int>
        private(set) var requests = 0

        init(losing losses: Set<Int>) { self.losses = losses }

        func renew() throws {
            requests += 1
            if losses.contains(requests) { throw Busy() }
        }
    }

    /// The lease lasts for 30 s, and is renewed every 10 s.
    @Test(
        arguments: [
            ([], nil, 15), ([4], nil, 15), ([4, 6, 8], nil, 15), ([1, 2], 30, 2), ([4, 5], 60, 5),
        ] as [(Set<Int>, Int?, Int)]
    )
    func aLeaseIsLostIfTwoRenewalsFail(losses: Set<Int>, end: Int?, requests: Int) async throws {
        let (virtual, length, registry) = (
            VirtualTime(clock: .continuous), Duration.seconds(30), Registry(losing: losses)
        )
        let (service, ends, goOn) = (
            virtual.service, TickLog(virtual), { @Sendable (_: PreciseTimer, _: any Error) in }
        )
        let asked = service.now
        let lease = PreciseTimer.Schedule.once(at: asked.advanced(by: length))
        let expiry = try PreciseTimer.schedule(lease, on: service, target: ends) { $0.note($1) }
        let renewals = try PreciseTimer.schedule(.every(length / 3), on: service, onError: goOn) { timer, _ in
            if expiry.hasEnded {
                _ = timer.cancel()
                return
            }
            let asked = service.now
            try await withTimeout(length / 3, on: service) { try await registry.renew() }
            try expiry.reschedule(.once(at: asked.advanced(by: length)))
        }
        await virtual.advance(by: .seconds(150))
        #expect(ends.deadlines == (end.map { [.seconds($0)] } ?? []))
        #expect(await registry.requests == requests)
        #expect(renewals.hasEnded == (end != nil))
        await renewals.cancelAndWait()
        expiry.cancel()
        #expect(virtual.pendingCount == 0)
    }

    @Test @MainActor func anEditorSavesOnceAfterABurstAndIsNotRetained() async throws {
        var editor: Editor? = try Editor(on: virtual.service)
        for _ in 0..<5 {
            editor?.change()
            await virtual.advance(by: .milliseconds(100))
        }
        #expect(editor?.saves == 0)
        await virtual.advance(by: .milliseconds(200))
        #expect(editor?.saves == 1)
        weak let released = editor
        editor = nil
        #expect(released == nil)
    }
}
