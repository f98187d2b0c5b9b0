import PreciseTimer
import PreciseTimerExecutor
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

private actor Stock {
    private var content = 0

    func add(_ number: Int) -> Int {
        content += number
        return content
    }
}

/// Code whose steps must be the same in each run on virtual time.
private enum Scene: CaseIterable {
    case randomSleeps, stream, actor, ticks, timeOuts, retries, loop, measured, yields, cancelledGroup

    /// Whether it stays on virtual time. With Swift 6.2, `withTimeout` cannot ask for its caller's executor.
    var isInside: Bool {
        #if compiler(>=6.3)
        true
        #else
        self != .timeOuts
        #endif
    }

    /// Notes the steps of a task, and whether the task's sleeps had their exact lengths.
    private struct Trace {
        let virtual: VirtualTime
        let steps: Notes<String>

        func note(_ step: some Any) {
            steps.append("\(step) at \(virtual.now)")
        }

        func sleep(_ length: Duration) async throws {
            let start = virtual.now
            try await virtual.clock.sleep(until: start.advanced(by: length))
            if start.duration(to: virtual.now) != length { note("a wrong length") }
        }

        /// Does some work in a number of tasks, which may throw.
        func tasks(_ count: Int, work: @escaping @Sendable (Int) async throws -> Void) async {
            await withTaskGroup { group in
                for number in 0..<count {
                    group.addTask(priority: number % 2 == 0 ? .low : .high) {
                        do { try await work(number) } catch { note("\(number) failed") }
                    }
                }
            }
        }
    }

    func run(_ virtual: VirtualTime, _ steps: Notes<String>) async throws {
        let trace = Trace(virtual: virtual, steps: steps)
        switch self {
        case .randomSleeps:
            await trace.tasks(500) { number in
                var random = SeededGenerator(seed: UInt64(number))
                for step in 0..<3 {
                    try await trace.sleep(.nanoseconds(Int64.random(in: 1...1_000_000_000, using: &random)))
                    trace.note((number, step))
                }
            }
        case .stream:
            let (stream, input) = AsyncStream.makeStream(of: Int.self)
            async let sum = stream.reduce(0, +)
            for number in 0..<100 {
                try await trace.sleep(.milliseconds(number % 5))
                input.yield(number)
            }
            input.finish()
            trace.note(await sum)
        case .actor:
            let stock = Stock()
            await trace.tasks(100) { number in
                try await trace.sleep(.milliseconds(number % 7))
                trace.note((number, await stock.add(number)))
            }
        case .ticks:
            await trace.tasks(20) { number in
                let ticks = PreciseTimer.ticks(.every(.milliseconds(number + 1), count: 20), on: virtual.service)
                for try await tick in ticks { trace.note((number, tick.index, tick.missed)) }
            }
        case .timeOuts:
            await trace.tasks(50) { number in
                try await withTimeout(.milliseconds(25), on: virtual.service) {
                    try await trace.sleep(.milliseconds(number))
                }
            }
        case .retries:
            await trace.tasks(10) { limit in
                let attempts = Count()
                try await withRetry(attempts: 5, jitter: .none, on: virtual.service) {
                    trace.note(limit)
                    if attempts.add(1) < limit { throw CancellationError() }
                }
            }
        case .loop:
            var next = virtual.now
            for _ in 0..<100 {
                next = next.advanced(by: .nanoseconds(333_333_333))
                try await virtual.clock.sleep(until: next)
                if next != virtual.now { trace.note("a wrong length") }
            }
        case .measured:
            for number in 0..<50 {
                let length = try await virtual.clock.measure { try await trace.sleep(.microseconds(number)) }
                if length != .microseconds(number) { trace.note("a wrong length") }
            }
        case .yields:
            await trace.tasks(100) { number in
                for _ in 0..<number { await Task.yield() }
                trace.note(number)
            }
        case .cancelledGroup:
            await withTaskGroup { group in
                for number in 0..<50 {
                    group.addTask {
                        let end = virtual.now.advanced(by: .seconds(number))
                        trace.note((number, (try? await virtual.clock.sleep(until: end)) != nil))
                    }
                }
                try? await trace.sleep(.milliseconds(20_500))
                group.cancelAll()
            }
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct RunTraceTests {
    @Test(arguments: Scene.allCases.filter(\.isInside))
    fileprivate func eachRunTakesTheSameStepsInTheSameOrder(scene: Scene) async throws {
        var traces: Set<[String]> = []
        for _ in 0..<Effort.of(5, thorough: 100) {
            let (virtual, steps) = (VirtualTime(), Notes<String>())
            try await virtual.run { try await scene.run(virtual, steps) }
            #expect(virtual.executor.strays == 0)
            traces.insert(steps.all + ["the end at \(virtual.now)"])
        }
        #expect(traces.count == 1)
        #expect(traces.first?.contains { $0.contains("wrong") } == false)
    }
}
