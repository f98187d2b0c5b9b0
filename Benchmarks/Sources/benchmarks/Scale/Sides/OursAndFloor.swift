import CBenchmark
import Dispatch
import PreciseTimer

/// This library's timers, with a weak target, on a service with a timer descriptor.
struct OurTimers: TimerSide {
    static let name = "PreciseTimer"

    private let service: TimerService
    private let sample: Sample

    init(_ sample: Sample) throws {
        service = try TimerService(.timerFD)
        self.sample = sample
    }

    func schedule(_ number: Int) throws -> PreciseTimer {
        let schedule = PreciseTimer.Schedule.once(after: .nanoseconds(sample.delays[number]))
        return try PreciseTimer.schedule(schedule, on: service, target: sample.targets[number]) { target, _ in
            target.tick()
        }
    }

    func reschedule(_ timer: PreciseTimer, _ number: Int) throws {
        try timer.reschedule(.once(after: .nanoseconds(sample.delays[number] + 1_000)))
    }

    func cancel(_ timer: PreciseTimer) { timer.cancel() }

    func close(_ pending: [PreciseTimer]) { service.shutdown() }

    /// A handler holds the service's thread until all timers are scheduled and due.
    static func fire(_ sample: Sample) throws -> Double {
        let service = try TimerService(.timerFD)
        let gate = Gate()
        let held = DispatchSemaphore(value: 0)
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: gate) { gate, _ in
            held.signal()
            gate.pass()
        }
        held.wait()
        let start = Clock.now()
        let timers = try zip(sample.targets, sample.spread)
            .map { target, offset in
                let deadline = TimerInstant(nanoseconds: start + offset)
                return try PreciseTimer.schedule(.once(at: deadline), on: service, target: target) { target, _ in
                    target.tick()
                }
            }
        Clock.sleep(until: start + 2_000_000)
        gate.open()
        let last = try Ticks.wait().last
        withExtendedLifetime(timers) { _ = service.shutdown() }
        return Double(last - gate.passed)
    }

    static func tick() throws -> Double {
        let (service, target) = (try TimerService(.timerFD), Target())
        try storm(on: service, target)
        defer { service.shutdown() }
        return Ticks.price()
    }

    /// Timers that are always due.
    static func storm(on service: TimerService, _ target: Target) throws {
        for _ in 0..<Storm.timers {
            let period = Duration.nanoseconds(Storm.period)
            try PreciseTimer.schedule(.every(period), on: service, target: target) { target, _ in target.tick() }
        }
    }
}

/// A bare heap in C, without a lock, a handle, a target or a thread: the floor of the data structure.
@safe struct HeapFloor: TimerSide {
    static let name = "C heap"

    private let heap: OpaquePointer
    private let sample: Sample
    private var free: [UInt32]

    init(_ sample: Sample) throws {
        guard let heap = unsafe bench_heap_new(UInt32(sample.count + 1)) else {
            throw Program.Failure(description: "no memory")
        }
        unsafe self.heap = unsafe heap
        self.sample = sample
        free = Array(0...UInt32(sample.count))
    }

    mutating func schedule(_ number: Int) -> UInt32 {
        let entry = free.removeLast()
        unsafe bench_heap_push(heap, entry, Clock.now() + sample.delays[number])
        return entry
    }

    func reschedule(_ timer: UInt32, _ number: Int) {
        unsafe bench_heap_move(heap, timer, Clock.now() + sample.delays[number] + 1_000)
    }

    mutating func cancel(_ timer: UInt32) {
        unsafe bench_heap_remove(heap, timer)
        free.append(timer)
    }

    func close(_ pending: [UInt32]) { unsafe bench_heap_free(heap) }

    /// Removes the due entries one by one, and calls the target of each.
    static func fire(_ sample: Sample) throws -> Double {
        let side = try HeapFloor(sample)
        defer { side.close([]) }
        let start = Clock.now()
        for (number, offset) in sample.spread.enumerated() {
            unsafe bench_heap_push(side.heap, UInt32(number), start + offset)
        }
        Clock.sleep(until: start + 2_000_000)
        let begin = Clock.now()
        for _ in 0..<sample.count {
            let entry = unsafe bench_heap_due(side.heap, begin)
            unsafe bench_heap_remove(side.heap, entry)
            sample.targets[Int(entry)].tick()
        }
        return Double(try Ticks.wait().last - begin)
    }

    /// Moves the first entry on by a period, at each tick.
    static func tick() throws -> Double {
        let sample = Sample(count: Storm.timers)
        let side = try HeapFloor(sample)
        defer { side.close([]) }
        let start = Clock.now()
        for number in 0..<sample.count { unsafe bench_heap_push(side.heap, UInt32(number), start) }
        return Ticks.price { milliseconds in
            let end = Clock.now() + milliseconds * 1_000_000
            while Clock.now() < end {
                for _ in 0..<1_000 {
                    let entry = unsafe bench_heap_due(side.heap, .max)
                    sample.targets[Int(entry)].tick()
                    let next = unsafe bench_heap_deadline(side.heap, entry) + Storm.period
                    unsafe bench_heap_move(side.heap, entry, next)
                }
            }
        }
    }
}
