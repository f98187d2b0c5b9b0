// swift-format-ignore-file
// What people write first. It compiles as it stands: .ci/first-guesses. The forms of handlers that
// `HandlerFormTests` and `FormTests` call are left out.
import Foundation
import PreciseTimer
import PreciseTimerPatterns

@MainActor final class ViewModel {
    var seconds = 0
    var isOver = false
    var left = 10
    let lock = NSLock()
    private let timers = TimerBag()
    private var clock: PreciseTimer?

    init() throws {
        clock = try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor model, tick in
            model.seconds += 1
        }
        try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor m, _ in m.refresh() }
            .store(in: timers)
        try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor in $0.step($1) }
            .store(in: timers)
        try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor model, tick in
            model.lock.lock()
            model.left -= 1 + tick.missed
            model.lock.unlock()
        }
    }

    func start() throws {
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            target: self,
            onEnd: { @MainActor [weak self] reason in self?.isOver = true }
        ) { @MainActor model, tick in model.seconds += 1 }
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            target: self,
            onError: { @MainActor model, error in model.isOver = true }
        ) { @MainActor model, tick in try await model.load() }
        try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor model, tick async throws in
            try await model.load()
        }
        try PreciseTimer.schedule(.every(.seconds(1)), target: self, onError: { print($1) }) { @MainActor model, _ in
            try await model.load()
        }
    }

    func refresh() {}
    func close(_ id: Int) {}
    func step(_ tick: PreciseTimer.Tick) {}
    func load() async throws {}
}

@MainActor func bursts(_ model: ViewModel, _ poller: Poller, _ meter: Meter) throws {
    let bag = TimerBag()
    try Throttler(.milliseconds(16), target: model) { @MainActor model in model.refresh() }.store(in: bag)
    try Debouncer(.seconds(1), edge: .both, target: meter) { meter in await meter.flush() }.store(in: bag, named: "a")
    try Debouncer(.seconds(1), deliver: .queue(.global()), target: poller) { poller in poller.step() }.store(in: bag)
    IdleTimeouts<Int>(target: model) { @MainActor model, id in model.close(id) }.store(in: bag)
    IdleTimeouts<Int>(target: model) { @MainActor model, id, tick in model.close(id) }.store(in: bag)
    IdleTimeouts<Int>(target: poller) { poller, id, tick in poller.note(tick) }.store(in: bag)
    IdleTimeouts<Int>(target: meter) { meter, id async in meter.missed += id }.refresh(1, after: .seconds(30))
}

func handlers(_ poller: Poller) throws {
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { poller, tick in poller.step() }
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { $0.note($1) }
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller, handler: { poller, _ in poller.step() })
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller) { poller, tick in try await poller.poll() }
    try PreciseTimer.schedule(.every(.seconds(1)), target: poller, onError: { throw $1 }) { poller, tick in
        print(tick)
        try await poller.poll()
    }
}

func handles() throws -> [PreciseTimer] {
    [
        try PreciseTimer.schedule(.every(.seconds(1))) { print("tick") },
        try PreciseTimer.schedule(.every(.seconds(1))) { timer, tick in timer.cancel() },
        try PreciseTimer.schedule(.every(.seconds(1))) { timer, tick in await Task.yield() },
    ]
}

struct TooMany: Error { var retryAfter: Duration? }

func calls(_ meter: Meter, _ timer: PreciseTimer, tempo: Double) async throws {
    try await withTimeout(.seconds(2), isCancellation: { ($0 as? URLError)?.code == .cancelled }) {
        try await meter.report()
    }
    try await withTimeout(.seconds(2), isCancellation: { $0 is URLError }) { try await meter.report() }
    try await withRetry(attempts: 5, backoff: { error, attempt in (error as? TooMany)?.retryAfter }) {
        try await meter.report()
    }
    try await withRetry(attempts: 5, backoff: { error, _ in error is URLError ? .seconds(1) : nil }) { attempt in
        try await withTimeout(.seconds(1) * attempt) { try await meter.report() }
    }
    try Debouncer(.milliseconds(300), longest: .seconds(5), target: meter) { await $0.flush() }.flush()
    try timer.reschedule(.rate(127.5, per: .seconds(60)), keeping: .phase)
    try timer.reschedule(.rate(24 * tempo, per: .seconds(60)), keeping: .phase)
    try timer.reschedule(.rate(24, per: .seconds(60)))
}
