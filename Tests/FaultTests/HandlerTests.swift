import Glibc
import PreciseTimer
import TestSupport
import Testing

/// Handlers that trap, block, never return from an await, schedule again and again, or end everything. Faults 26, 29
/// to 31, 35 and 36.
@Suite(.waits("handlers block threads, and end the process"), .timeLimit(.minutes(60))) struct HandlerTests {
    typealias Backend = TimerService.Backend

    /// The missed deadlines of an hour are computed, without a loop over 3,600,000 deadlines.
    @Test(arguments: Backend.available, [PreciseTimer.MissedTickPolicy.skip, .catchUp(limit: 3), .delay])
    func aStartFarInThePastIsCountedAtOnce(backend: Backend, policy: PreciseTimer.MissedTickPolicy) async throws {
        let service = try TimerService(backend)
        let start = service.now.advanced(by: .milliseconds(-min(3_600_000, Int(service.now.nanoseconds / 2_000_000))))
        let passed = UInt64(start.duration(to: service.now) / .milliseconds(1))
        let log = Log()
        let cpu = Reading.threadSeconds
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), at: start),
            on: service,
            missedTicks: policy,
            target: log
        ) { $0.note($1) }
        let isTicking = eventually { log.count >= 10 }
        #expect(isTicking)
        timer.cancel()
        #expect(Reading.threadSeconds - cpu < 1)
        let ticks = log.ticks
        let (first, third) = (ticks[0], ticks[2])
        #expect(first.index == 0 && first.deadline == start)
        if policy == .catchUp(limit: 3) {
            #expect(first.missed == 0 && third.missed >= passed - 3)
        } else {
            #expect(first.missed >= passed - 1)
        }
        if policy != .delay {
            let flaw = ticks.flaw(from: start, every: .milliseconds(1))
            #expect(flaw == nil)
        }
    }

    /// The stuck actor's ticks are merged and counted meanwhile, and other timers tick as usual.
    @Test(arguments: Backend.available)
    func anActorThatDoesNotReturnStopsOnlyItsOwnTimer(backend: Backend) async throws {
        let service = try TimerService(backend)
        let (stuck, other) = (Worker(), Worker())
        let log = Log()
        let start = service.now.advanced(by: .milliseconds(2))
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2), at: start), on: service, target: stuck) {
            worker,
            tick in await worker.work(tick, passing: true)
        }
        try PreciseTimer.schedule(.every(.milliseconds(2)), on: service, target: other) { worker, tick in
            await worker.work(tick, passing: false)
        }
        try PreciseTimer.schedule(.every(.milliseconds(2)), on: service, target: log) { $0.note($1) }
        #expect(await soon { stuck.log.count == 1 })
        let before = (other.log.count, log.count)
        #expect(await soon { other.log.count >= before.0 + 50 && log.count >= before.1 + 50 })
        #expect(stuck.log.count == 1)
        stuck.gate.open()
        #expect(await soon { stuck.log.count >= 5 })
        let ticks = stuck.log.ticks
        #expect(ticks[1].missed >= 40, "it counts the deadlines during the wait")
        let flaw = ticks.flaw(from: start, every: .milliseconds(2))
        #expect(flaw == nil)
        #expect(timer.cancel())
        service.shutdown()
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Backend.available)
    func aTimerWhoseActorNeverReturnsIsCancelledAtOnce(backend: Backend) async {
        await #expect(processExitsWith: .exitCode(7)) { [backend] in
            Fault.endIfHung()
            let stuck = Worker()
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: stuck) {
                worker,
                tick in await worker.work(tick, passing: true)
            }
            #expect(await soon { stuck.log.count == 1 })
            #expect(timer.cancel())
            #expect(timer.state == .ended(.cancelled))
            exit(7)
        }
    }

    /// The library installs no signal handler that could hide the cause.
    @Test(arguments: Backend.available, DeliveryKind.allCases)
    func aHandlerThatAbortsEndsTheProcessWithThatSignal(backend: Backend, kind: DeliveryKind) async {
        await #expect(processExitsWith: .signal(SIGABRT)) { [backend, kind] in
            Fault.endIfHung()
            let (place, target) = (Place(kind), Log())
            _ = try place.schedule(.once(after: .milliseconds(1)), on: backend.shared, target: target) { _ in abort() }
            try await Task.sleep(for: .seconds(Hang.seconds / 2))
            withExtendedLifetime(target) { exit(0) }
        }
    }

    @Test(arguments: Backend.available)
    func aHandlerThatTrapsEndsTheProcess(backend: Backend) async {
        await #expect(processExitsWith: .failure) { [backend] in
            Fault.endIfHung()
            let target = Log()
            try PreciseTimer.schedule(.once(after: .zero), on: backend.shared, target: target) { _, _ in
                preconditionFailure("on purpose")
            }
            pause(.seconds(Hang.seconds / 2))
            exit(0)
        }
    }

    @Test(arguments: Backend.available, [DeliveryKind.inline, .serialQueue])
    func aHandlerThatNeverReturnsStopsOnlyItsOwnTimer(backend: Backend, kind: DeliveryKind) async {
        await #expect(processExitsWith: .exitCode(7)) { [backend, kind] in
            Fault.endIfHung()
            let (stuck, sameService, otherService) = (Log(), Log(), Log())
            let (blocked, free) = (Place(kind), Place(.serialQueue))
            let service = try TimerService(backend)
            let timer = try blocked.schedule(.every(.milliseconds(1)), on: service, target: stuck) { tick in
                stuck.note(tick)
                while true { sleep(1_000) }
            }
            #expect(eventually { stuck.count == 1 })
            // Another timer of the service goes on, unless the handler occupies the service's own thread.
            let other = try free.schedule(.every(.milliseconds(1)), on: service, target: sameService) {
                sameService.note($0)
            }
            if kind != .inline { #expect(eventually { sameService.count >= 20 }) }
            let third = try TimerService(backend)
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: third, target: otherService) { $0.note($1) }
            #expect(eventually { otherService.count >= 20 })
            #expect(timer.cancel())
            #expect(other.cancel())
            #expect(timer.state == .ended(.cancelled))
            #expect(stuck.count == 1)
            service.shutdown()
            exit(7)
        }
    }

    /// A timer that is due at once ticks in a later round, on a stack that does not grow, and other timers
    /// get their turn.
    @Test(arguments: Backend.available, [false, true])
    func tenThousandTimersDueAtOnceNeedNoStack(backend: Backend, isNewTimer: Bool) async {
        await #expect(processExitsWith: .success) { [backend, isNewTimer] in
            Fault.endIfHung()
            let chain = Chain(length: 10_000)
            let sibling = Log()
            let service = try TimerService(backend)
            try PreciseTimer.schedule(.every(.microseconds(500)), on: service, target: sibling) { $0.note($1) }
            #expect(eventually { sibling.count >= 1 })
            let before = sibling.count
            if isNewTimer {
                try chain.addLink(on: service)
            } else {
                let timer = try PreciseTimer.schedule(.onceNow, on: service) { timer, tick in
                    if chain.isLonger() { try? timer.reschedule(.onceNow) }
                }
                chain.hold(timer)
            }
            #expect(eventually { chain.isOver })
            #expect(chain.stackBytes < 16_384)
            #expect(sibling.count >= before + 2)
            let flaw = sibling.ticks.flaw(from: sibling.ticks[0].deadline, every: .microseconds(500))
            #expect(flaw == nil)
        }
    }
    #endif

    /// A handler releases the last references to the service and to the owner of all its timers.
    @Test(arguments: Backend.available, [false, true])
    func aHandlerMayEndTheServiceAndItsOwner(backend: Backend, isShutDown: Bool) async throws {
        let isReleased = Gate()
        let owner = Box<Owner>()
        let ticks = Log()
        let ends = Notes<PreciseTimer.EndReason>()
        do {
            let service = try TimerService(backend)
            owner.value = Owner(service) { isReleased.open() }
            // Inside a handler, so that no tick is delivered before all timers are scheduled.
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: ends) { ends, _ in
                guard let owned = owner.value else { return }
                let due = owned.service.now
                for _ in 0..<5 {
                    let onEnd: @Sendable (PreciseTimer.EndReason) -> Void = { ends.append($0) }
                    let handler: @Sendable (PreciseTimer.Tick) -> Void = { tick in
                        ticks.note(tick)
                        if isShutDown { owner.value?.service.shutdown() }
                        owner.value = nil
                    }
                    try? owned.schedule(at: due, onEnd: onEnd, handler: handler)
                }
            }
        }
        await isReleased.pass()
        #expect(await soon { ends.all.count == 5 })
        #expect(ticks.count == 1, "no sibling is delivered")
        #expect(ends.all.filter { $0 == .completed }.count <= 1)
    }
}

extension PreciseTimer.Schedule {
    fileprivate static var onceNow: PreciseTimer.Schedule { .once(after: .zero) }
}

/// An actor whose work waits for a gate to open.
private actor Worker {
    nonisolated let log = Log()
    nonisolated let gate = Gate()

    func work(_ tick: PreciseTimer.Tick, passing: Bool) async {
        log.note(tick)
        if passing { await gate.pass() }
    }
}

/// A chain of handlers, each scheduled by the previous one, and the stack that they used.
private final class Chain: Sendable {
    private let length: Int
    private let count = Count()
    private let addresses = Notes<UInt>()
    private let timer = Box<PreciseTimer>()

    init(length: Int) { self.length = length }

    func hold(_ timer: PreciseTimer) { self.timer.value = timer }

    func addLink(on service: TimerService) throws(TimerError) {
        try PreciseTimer.schedule(.onceNow, on: service, target: self) { chain, _ in
            if chain.isLonger() { try? chain.addLink(on: service) }
        }
    }

    /// Counts a link. Returns whether another link follows.
    func isLonger() -> Bool {
        var local: UInt8 = 0
        unsafe withUnsafePointer(to: &local) { addresses.append(UInt(bitPattern: $0)) }
        return count.add(1) < length
    }

    var isOver: Bool { count.value >= length }

    /// The distance from the highest to the lowest stack address among links on the same thread. The stack of another
    /// thread is megabytes away.
    var stackBytes: UInt {
        let all = addresses.all.sorted()
        var widest: UInt = 0
        var start = all[0]
        for (last, next) in zip(all, all.dropFirst()) {
            if next - last > 1 << 20 { start = next }
            widest = max(widest, next - start)
        }
        return widest
    }
}

/// Holds the service and its timers.
private final class Owner: Sendable {
    let service: TimerService
    private let bag = TimerBag()
    private let onDeinit: @Sendable () -> Void

    init(_ service: TimerService, onDeinit: @escaping @Sendable () -> Void) {
        self.service = service
        self.onDeinit = onDeinit
    }

    deinit { onDeinit() }

    func schedule(
        at instant: TimerInstant,
        onEnd: @escaping @Sendable (PreciseTimer.EndReason) -> Void,
        handler: @escaping @Sendable (PreciseTimer.Tick) -> Void
    ) throws(TimerError) {
        try PreciseTimer.schedule(.once(at: instant), on: service, target: self, onEnd: onEnd) { handler($1) }
            .store(in: bag)
    }
}
