import PreciseTimer
import TestSupport
import TimerKernel

/// One soak: its threads and tasks, from the first timer to the last check.
struct SoakRun {
    private let seconds: Int
    private let seed: UInt64
    private let tally = Tally()
    private let services: Services
    private let stock: Stock
    private let stop = Gate()
    private let start = TimerClock.suspending.now

    init(timers: Int, seconds: Int, seed: UInt64) throws {
        (self.seconds, self.seed) = (seconds, seed)
        services = try Services(tally)
        stock = Stock(count: timers, services, tally)
    }

    func run() async throws -> SoakReport {
        let atStart = ProcessUse.now
        let running = try startThreads(4)
        let callers = Callers(services: services, tally: tally, stop: stop)
        let tasks = (0..<120).map { number in Task { await callers.run(number, seed: seed) } }
        let growth = await observe()
        let wasInterrupted = Interrupt.isRequested

        stop.open()
        await wait("the threads end") { running.value == 0 }
        await settle()
        endAll()
        for task in tasks { await task.value }
        await wait("every timer ended") { tally.ended.value == tally.scheduled.value }
        await wait("every handler returned") { tally.begun.value == tally.returned.value }
        await wait("all targets are released") { tally.targets.value == 0 }
        await wait("all captures are released") { tally.captures.value == 0 }
        for finding in growth.findings { tally.violate("flat", finding) }
        return SoakReport(tally: tally, seed: seed, wasInterrupted: wasInterrupted, atStart: atStart, growth: growth)
    }

    private func startThreads(_ count: Int) throws -> Count {
        let running = Count()
        for number in 0..<count {
            running.add(1)
            let (stock, stop, seed) = (stock, stop, seed)
            try Thread.start("soak.churn.\(number)") {
                var churn = Churn(stock, thread: number, of: count, seed: seed)
                churn.fill()
                while !stop.isPassable { churn.turn() }
                running.add(-1)
            }
        }
        return running
    }

    /// Prints a line every two seconds until the time is over.
    private func observe() async -> Growth {
        var growth = Growth()
        print("elapsed   timers      ticks   missed   rss MB   fds   threads")
        while elapsed < seconds, !Interrupt.isRequested {
            try? await Task.sleep(for: .seconds(min(2, max(1, seconds / 12))))
            let use = ProcessUse.now
            growth.add(use)
            let columns = [
                ("\(elapsed) s", 7), ("\(tally.scheduled.value - tally.ended.value)", 9), ("\(tally.ticks.value)", 11),
                ("\(tally.missed.value)", 9), ("\(use.memory / 1_024)", 9), ("\(use.descriptors)", 6),
                ("\(use.threads)", 10),
            ]
            print(columns.map { String(repeating: " ", count: max(0, $0.1 - $0.0.count)) + $0.0 }.joined())
        }
        return growth
    }

    private var elapsed: Int { Int(start.duration(to: TimerClock.suspending.now) / .seconds(1)) }

    /// Resumes paused timers, and checks that no due tick is missing.
    private func settle() async {
        for content in (0..<stock.count).compactMap({ stock[$0] }) {
            guard let timer = content.timer else { continue }
            timer.resume()
            content.subject.pause(false)
        }
        let instants = Dictionary(uniqueKeysWithValues: TimerClock.allCases.map { ($0, $0.now.nanoseconds) })
        var left: [String] = []
        for _ in 0..<150 {
            left = (0..<stock.count)
                .compactMap { index in
                    stock[index].flatMap { $0.subject.lack(asOf: instants[$0.clock] ?? 0) }
                }
            if left.isEmpty { return }
            try? await Task.sleep(for: .milliseconds(200))
        }
        for lack in left { tally.violate("no deadline is lost", lack) }
    }

    /// Ends half of the timers by their handles, and the rest with their services or targets.
    private func endAll() {
        for index in stride(from: 0, to: stock.count, by: 2) { stock[index]?.timer?.cancel() }
        services.shutDownAll()
        for index in 0..<stock.count { stock[index] = nil }
    }

    /// Waits up to half a minute for a condition that must come true.
    private func wait(_ promise: String, _ condition: () -> Bool) async {
        if await soon(condition) { return }
        let counts = [tally.scheduled, tally.ended, tally.begun, tally.returned, tally.targets, tally.captures]
        tally.violate(promise, "scheduled, ended, begun, returned, targets, captures: \(counts.map(\.value))")
    }
}

/// Counted while it exists.
final class Life: Sendable {
    private let count: Count

    init(_ count: Count) {
        self.count = count
        count.add(1)
    }

    deinit { count.add(-1) }
}

/// The counts of a soak, and the broken promises; for any thread.
final class Tally: Sendable {
    let (scheduled, refused, ended) = (Count(), Count(), Count())
    let (ticks, extraTicks, missed) = (Count(), Count(), Count())
    /// The numbers of handlers that have begun and returned.
    let (begun, returned) = (Count(), Count())
    /// The numbers of existing objects.
    let (targets, captures) = (Count(), Count())
    /// What the threads and the tasks have done.
    let (operations, servicesMade, calls) = (Count(), Count(), Count())
    /// How often each promise was broken, and the first example of that.
    private let broken = Lock([String: (times: Int, example: String)]())

    /// Notes a broken promise: its name, and an observation.
    func violate(_ promise: String, _ detail: String) {
        broken.withLock { $0[promise, default: (0, detail)].times += 1 }
    }

    /// One line for each broken promise.
    var violations: [String] {
        broken.withLock { $0.sorted { $0.key < $1.key } }
            .map { "\($0.key) (\($0.value.times) times), as in: \($0.value.example)" }
    }
}
