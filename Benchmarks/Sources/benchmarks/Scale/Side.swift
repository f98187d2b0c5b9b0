import ArgumentParser

/// The sides that are compared, by name.
enum Side: String, CaseIterable, ExpressibleByArgument {
    case ours
    case dispatch
    case nio
    case sleep
    case libevent
    case heap

    private var type: any TimerSide.Type {
        switch self {
        case .ours: OurTimers.self
        case .dispatch: DispatchTimers.self
        case .nio: LoopTasks.self
        case .sleep: SleepingTasks.self
        case .libevent: LoopEvents.self
        case .heap: HeapFloor.self
        }
    }

    var title: String { type.name }

    func takesPart(with count: Int) -> Bool { count <= type.mostTimers }

    /// Nanoseconds per operation. One call for each type, so that the compiler specialises it.
    func operations(_ sample: Sample) throws -> [Operation: Double] {
        switch self {
        case .ours: try ScalePass.run(OurTimers.self, sample)
        case .dispatch: try ScalePass.run(DispatchTimers.self, sample)
        case .nio: try ScalePass.run(LoopTasks.self, sample)
        case .sleep: try ScalePass.run(SleepingTasks.self, sample)
        case .libevent: try ScalePass.run(LoopEvents.self, sample)
        case .heap: try ScalePass.run(HeapFloor.self, sample)
        }
    }

    func tick() throws -> Double { try type.tick() }
}
