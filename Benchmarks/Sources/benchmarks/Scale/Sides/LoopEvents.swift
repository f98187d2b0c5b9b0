import CLibevent
import Glibc
import NIOCore
import NIOPosix

/// Events of a libevent loop. They refer to their target by an unowned pointer.
@safe struct LoopEvents: TimerSide {
    static let name = "libevent"

    /// An event, owned by the pass.
    @safe struct Event {
        let pointer: OpaquePointer?
    }

    private let base: OpaquePointer
    private let sample: Sample

    init(_ sample: Sample) throws {
        unsafe base = try unsafe Self.makeBase()
        self.sample = sample
    }

    func schedule(_ number: Int) -> Event {
        let event = unsafe Self.event(on: base, sample.targets[number])
        unsafe Self.add(event, after: sample.delays[number])
        return unsafe Event(pointer: event)
    }

    func reschedule(_ timer: Event, _ number: Int) {
        unsafe Self.add(timer.pointer, after: sample.delays[number] + 1_000)
    }

    func cancel(_ timer: Event) { unsafe event_free(timer.pointer) }

    func close(_ pending: [Event]) { unsafe event_base_free(base) }

    static func fire(_ sample: Sample) throws -> Double {
        let side = try LoopEvents(sample)
        let events = unsafe zip(sample.targets, sample.spread)
            .map { target, offset in
                let event = unsafe event(on: side.base, target)
                unsafe add(event, after: 1_000_000 + offset)
                return unsafe event
            }
        Clock.sleep(milliseconds: 3)
        let begin = Clock.now()
        unsafe event_base_loop(side.base, 0)
        let end = try Ticks.wait().last
        for number in unsafe events.indices { unsafe event_free(events[number]) }
        side.close([])
        return Double(end - begin)
    }

    static func tick() throws -> Double {
        let base = try unsafe makeBase()
        let target = Target()
        let events = unsafe (0..<Storm.timers)
            .map { _ in unsafe event(on: base, target, flags: Int16(EV_PERSIST)) }
        for number in unsafe events.indices { unsafe add(events[number], after: Storm.period) }
        defer {
            for number in unsafe events.indices { unsafe event_free(events[number]) }
            unsafe event_base_free(base)
        }
        return Ticks.price { milliseconds in
            var time = timeval(tv_sec: 0, tv_usec: Int(milliseconds * 1_000))
            unsafe event_base_loopexit(base, &time)
            unsafe event_base_loop(base, 0)
        }
    }

    /// A base with the precise clock instead of the coarse one.
    static func makeBase() throws -> OpaquePointer {
        let configuration = unsafe event_config_new()
        defer { unsafe event_config_free(configuration) }
        unsafe event_config_set_flag(configuration, Int32(EVENT_BASE_FLAG_PRECISE_TIMER.rawValue))
        guard let base = unsafe event_base_new_with_config(configuration) else {
            throw Program.Failure(description: "libevent has no base")
        }
        return unsafe base
    }

    static func event(on base: OpaquePointer, _ target: Target, flags: Int16 = 0) -> OpaquePointer? {
        let callback: event_callback_fn = { _, _, target in
            guard let target = unsafe target else { return }
            unsafe Unmanaged<Target>.fromOpaque(target)._withUnsafeGuaranteedRef { $0.tick() }
        }
        return unsafe event_new(base, -1, flags, callback, Unmanaged.passUnretained(target).toOpaque())
    }

    static func add(_ event: OpaquePointer?, after nanoseconds: UInt64) {
        var time = timeval(tv_sec: Int(nanoseconds / 1_000_000_000), tv_usec: Int(nanoseconds % 1_000_000_000 / 1_000))
        unsafe event_add(event, &time)
    }
}

/// Tasks of a SwiftNIO event loop, scheduled and cancelled on the loop.
struct LoopTasks: TimerSide {
    static let name = "SwiftNIO"
    static let canReschedule = false

    private let loop: any EventLoop
    private let sample: Sample

    /// A cancel searches all pending tasks, so only some are measured if there are many.
    static func operations(with pending: Int) -> Int {
        pending <= 1_000 ? .max : max(100, 100_000_000 / pending)
    }

    static func onItsThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        return try group.next().submit(body).wait()
    }

    init(_ sample: Sample) throws {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else {
            throw Program.Failure(description: "not on an event loop")
        }
        self.loop = loop
        self.sample = sample
    }

    func schedule(_ number: Int) -> Scheduled<Void> {
        let target = sample.targets[number]
        return loop.scheduleTask(in: .nanoseconds(Int64(sample.delays[number]))) { [weak target] in target?.tick() }
    }

    func cancel(_ timer: Scheduled<Void>) { timer.cancel() }

    /// A task of the loop schedules the timers, so none of them can run before.
    static func fire(_ sample: Sample) throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let (tasks, start) =
            try loop.submit {
                let start = Clock.now()
                let tasks = zip(sample.targets, sample.spread)
                    .map { target, offset in
                        loop.scheduleTask(deadline: .uptimeNanoseconds(start + offset)) { [weak target] in
                            target?.tick()
                        }
                    }
                Clock.sleep(until: start + 2_000_000)
                return (tasks, Clock.now())
            }
            .wait()
        return try withExtendedLifetime(tasks) { Double(try Ticks.wait().last - start) }
    }

    static func tick() throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let (loop, target) = (group.next(), Target())
        let period = TimeAmount.nanoseconds(Int64(Storm.period))
        let tasks = (0..<Storm.timers)
            .map { _ in
                loop.scheduleRepeatedTask(initialDelay: period, delay: period) { [weak target] _ in target?.tick() }
            }
        defer { for task in tasks { task.cancel() } }
        return Ticks.price()
    }
}
