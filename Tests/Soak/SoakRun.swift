import HostSystem
import PreciseTimer
import TimerKernel

/// One soak: its threads and tasks, from the first timer to the last check.
struct SoakRun {
    private let seconds: Int
    private let seed: UInt64
    private let tally = Tally()
    private let services: Services
    private let stock: Stock
    private let stop = ServiceFate()
    private let start = TimerClock.suspending.now

    init(timers: Int, seconds: Int, seed: UInt64) throws {
        self.seconds = seconds
        self.seed = seed
        services = try Services(tally)
        stock = Stock(count: timers, services, tally)
    }

    func run() async throws -> SoakReport {
        let atStart = ProcessUse.now
        let running = try startThreads(4)
        let consumers = Consumers(services: services, tally: tally, stop: stop)
        let callers = Callers(services: services, tally: tally, stop: stop)
        let tasks = (0..<100).map { number in Task { await consumers.run(number, seed: seed) } }
        let calls = (0..<24).map { number in Task { await callers.run(number, seed: seed) } }
        let growth = await observe()
        let wasInterrupted = Interrupt.isRequested

        stop.isShutDown = true
        await wait("the threads end") { running.withLock { $0 } == 0 }
        await settle()
        // Before the services end, which would excuse a call without an answer.
        for task in calls { await task.value }
        endAll()
        for task in tasks { await task.value }
        await wait("every timer ended") { tally.ended.value == tally.scheduled.value }
        await wait("every handler returned") { tally.begun.value == tally.returned.value }
        await wait("all targets are released") { tally.targets.value == 0 }
        await wait("all captures are released") { tally.captures.value == 0 }
        if tally.consumersBegun.value != tally.consumersEnded.value { tally.violate("consumers end", "") }
        for finding in growth.findings { tally.violate("flat", finding) }
        return SoakReport(tally: tally, seed: seed, wasInterrupted: wasInterrupted, atStart: atStart, growth: growth)
    }

    private func startThreads(_ count: Int) throws -> Lock<Int> {
        let running = Lock(count)
        for number in 0..<count {
            let (stock, stop, seed) = (stock, stop, seed)
            try Thread.start("soak.churn.\(number)") {
                var churn = Churn(stock, thread: number, of: count, seed: seed)
                churn.fill()
                while !stop.isShutDown { churn.turn() }
                running.withLock { $0 -= 1 }
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
        for index in 0..<stock.count {
            guard let content = stock[index], let timer = content.timer else { continue }
            timer.resume()
            content.subject.isPaused = false
        }
        let instants = Dictionary(uniqueKeysWithValues: TimerClock.allCases.map { ($0, $0.now.nanoseconds) })
        let released = TimerClock.suspending.now.nanoseconds - 10_000_000_000
        func missing(noting: Bool) -> Int {
            (0..<stock.count)
                .count { index in
                    guard let content = stock[index] else { return false }
                    return !content.subject.isSettled(
                        asOf: instants[content.clock] ?? 0,
                        released: released,
                        noting: noting
                    )
                }
        }
        var left = missing(noting: false)
        let begin = elapsed
        while left > 0, elapsed < begin + 30 {
            try? await Task.sleep(for: .milliseconds(200))
            left = missing(noting: false)
        }
        print("settled after \(elapsed - begin) s, with \(left) timers missing deadlines")
        _ = missing(noting: true)
    }

    /// Ends half of the timers by their handles, and the rest with their services.
    private func endAll() {
        for index in stride(from: 0, to: stock.count, by: 2) {
            guard let content = stock[index], let timer = content.timer else { continue }
            content.subject.note(.cancelled)
            timer.cancel()
        }
        services.shutDownAll()
        stock.bag.cancelAll()
        for index in 0..<stock.count { stock[index] = nil }
    }

    /// Waits up to half a minute for a condition that must come true.
    private func wait(_ promise: String, _ condition: () -> Bool) async {
        for _ in 0..<300 {
            if condition() { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
        if !condition() {
            let counts = "scheduled \(tally.scheduled.value), ended \(tally.ended.value), begun \(tally.begun.value), "
            let more =
                "returned \(tally.returned.value), targets \(tally.targets.value), captures \(tally.captures.value)"
            tally.violate(promise, counts + more)
        }
    }
}
