import Glibc
import PreciseTimer
import TestSupport
import TimerKernel

#if Instrument
import ArgumentParser

/// The command: runs the soak, prints its progress and its report.
@main
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timer-soak",
        abstract: "Runs many timers of every kind under churn, and checks that every promise is kept.",
        discussion: """
            Four threads schedule, cancel, pause, reschedule and fire timers on every backend and delivery, while \
            targets die and services come and go. Every deadline is accounted for, and nothing may leak. The exit code \
            is 0 if every promise was kept, 1 with a list of broken promises, and 3 if the soak hung.
            """
    )

    @Option(help: "How long the timers run, in seconds; setting up and ending take some seconds more.")
    var seconds = 60

    @Option(help: "How many timers exist at a time: four or more.")
    var timers = 20_000

    @Option(help: "The seed of all random choices. Threads still meet differently in each run. Default: a new one.")
    var seed: UInt64?

    func run() async throws {
        let seed = seed ?? .random(in: 0...999_999)
        print("timer-soak: \(timers) timers for \(seconds) s, seed \(seed)")
        try Self.watch(limit: .seconds(seconds + 1_800))
        let violations = try await SoakRun(timers: timers, seconds: seconds, seed: seed).run()
        print(violations.isEmpty ? "every promise was kept" : "VIOLATIONS:")
        for violation in violations { print("  - \(violation)") }
        if !violations.isEmpty { throw ExitCode(1) }
    }

    /// Ends the process if it is still running after a limit.
    private static func watch(limit: Duration) throws {
        try Thread.start("soak.watchdog") {
            KernelClock.sleep(for: limit)
            StandardError.writeLine("timer-soak: hung: not over after \(limit)")
            _exit(3)
        }
    }
}
#else
/// The soak of a build without its trait.
@main
enum WithoutTrait {
    static func main() {
        StandardError.writeLine("timer-soak is left out: build it with the package trait Instrument")
        exit(2)
    }
}
#endif

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

    /// Returns the broken promises.
    func run() async throws -> [String] {
        // With those of the services: at the end, the libraries below keep some that they opened for a service.
        let descriptors = ProcFS.openDescriptors
        let running = try startThreads(4)
        let callers = Callers(services: services, tally: tally, stop: stop)
        let tasks = (0..<120).map { number in Task { await callers.run(number, seed: seed) } }
        let memory = await observe()
        stop.open()
        await wait("the threads end") { running.value == 0 }
        await settle()
        endAll()
        for task in tasks { await task.value }
        await wait("every timer ended") { tally.ended.value == tally.scheduled.value }
        await wait("every handler returned") { tally.begun.value == tally.returned.value }
        await wait("all targets are released") { tally.targets.value == 0 }
        await wait("all captures are released") { tally.captures.value == 0 }
        await wait("all threads end") { ProcFS.threads(named: "timer.").isEmpty }
        // Dispatch has some of its own.
        await wait("all descriptors are closed") { ProcFS.openDescriptors <= descriptors + 4 }
        checkGrowth(of: memory)
        print(tally.text)
        return tally.violations
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

    /// Prints a line every two seconds until the time is over. Returns the memory in kilobytes at each.
    private func observe() async -> [Int] {
        var memory: [Int] = []
        while elapsed < seconds {
            try? await Task.sleep(for: .seconds(min(2, max(1, seconds / 12))))
            memory.append(ProcFS.residentBytes / 1_024)
            let timers = tally.scheduled.value - tally.ended.value
            print("\(elapsed) s: \(timers) timers, \(tally.ticks.value) ticks, \(memory[memory.count - 1] / 1_024) MB")
        }
        return memory
    }

    /// The first third of the samples is warm-up: pools, queues and caches fill. The maximum of the last third may be a
    /// tenth and 16 MB above that of the middle third, because the allocator returns pages late.
    private func checkGrowth(of memory: [Int]) {
        let third = memory.count / 3
        let (before, after) = (memory.dropFirst(third).prefix(third).max() ?? 0, memory.suffix(third).max() ?? 0)
        if third >= 3, after > before + before / 10 + 16_384 {
            tally.violate("the memory stays", "it grew from \(before) to \(after) kB")
        }
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

    var text: String {
        """
        \(scheduled.value) timers in \(operations.value) operations, and \(refused.value) refused by a shutdown
        \(ticks.value) ticks on the grid, \(missed.value) deadlines missed, \(extraTicks.value) extra ticks
        \(calls.value) sequences, time-outs and handlers that await, and \(servicesMade.value) services
        """
    }

    /// One line for each broken promise.
    var violations: [String] {
        broken.withLock { $0.sorted { $0.key < $1.key } }
            .map { "\($0.key) (\($0.value.times) times), as in: \($0.value.example)" }
    }
}
