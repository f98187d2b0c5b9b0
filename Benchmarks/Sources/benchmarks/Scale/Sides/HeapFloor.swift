import CBenchmark

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
        let sample = Sample(count: Storm.timers, order: .sequential)
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
