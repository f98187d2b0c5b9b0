package import Dispatch
package import PreciseTimer

/// The kinds of delivery.
package enum DeliveryKind: String, CaseIterable, Codable, Sendable {
    case inline, serialQueue, concurrentQueue, mainActor, actor

    /// The kinds that move a tick off the alarm's thread.
    package static let hops: [DeliveryKind] = [.serialQueue, .concurrentQueue, .mainActor, .actor]
}

/// A place in which handlers run. A test can keep it busy.
package final class Place: Sendable {
    package let kind: DeliveryKind
    private let queue: DispatchQueue
    private let actor = Worker()
    /// Set once, because Dispatch frees a replaced value even if another thread is reading it.
    private static let mainKey: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    package init(_ kind: DeliveryKind) {
        self.kind = kind
        // A concurrent queue shares its threads with other work of the same quality of service. In the tasks' class,
        // blocks that wait here would occupy the threads of the tasks that must release them.
        queue =
            kind == .concurrentQueue
            ? DispatchQueue(label: "test.place", qos: .userInitiated, attributes: .concurrent)
            : DispatchQueue(label: "test.place")
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
        actor.queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Whether the caller is in this place. For the inline place: whether the caller is in no other one.
    package var isHere: Bool {
        switch kind {
        case .inline: DispatchQueue.getSpecific(key: Self.key) == nil
        case .serialQueue, .concurrentQueue, .actor: DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
        // The main thread does not tell: if it waits in `dispatchMain`, any thread may run the main queue.
        case .mainActor: DispatchQueue.getSpecific(key: Self.mainKey) == true
        }
    }

    /// Schedules a timer that is delivered here. The actor is its own target; the other kinds use the given target.
    package func schedule(
        _ schedule: PreciseTimer.Schedule,
        on service: TimerService,
        missedTicks: PreciseTimer.MissedTickPolicy = .skip,
        target: some AnyObject & Sendable,
        onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)? = nil,
        handler: @escaping @Sendable (PreciseTimer.Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let delivery: PreciseTimer.Delivery
        switch kind {
        case .inline: delivery = .inline
        case .serialQueue, .concurrentQueue: delivery = .queue(queue)
        case .mainActor:
            return try PreciseTimer.schedule(
                schedule,
                on: service,
                missedTicks: missedTicks,
                target: target,
                onEnd: onEnd
            ) { @MainActor _, tick in handler(tick) }
        case .actor:
            let isolated: @Sendable (isolated Worker, PreciseTimer.Tick) async -> Void = { actor, tick in
                actor.assertIsolated()
                handler(tick)
            }
            return try PreciseTimer.schedule(
                schedule,
                on: service,
                missedTicks: missedTicks,
                target: actor,
                onEnd: onEnd,
                handler: isolated
            )
        }
        return try PreciseTimer.schedule(
            schedule,
            on: service,
            missedTicks: missedTicks,
            deliver: delivery,
            target: target,
            onEnd: onEnd,
            handler: { _, tick in handler(tick) }
        )
    }

    /// Keeps the place busy until a gate is opened. The place is busy when this returns.
    package func block(until gate: Gate) async {
        let isBusy = Gate()
        run {
            isBusy.open()
            gate.pass()
        }
        await isBusy.pass()
    }

    /// Waits until all ticks on their way to the place have been delivered.
    package func settle() async {
        // A hop to an actor is a task, which may not have reached the actor yet.
        for _ in 0..<3 {
            try? await Task.sleep(for: .milliseconds(2))
            let isOver = Gate()
            run { isOver.open() }
            await isOver.pass()
        }
    }

    private func run(_ body: @escaping @Sendable () -> Void) {
        switch kind {
        case .inline: body()
        case .serialQueue, .concurrentQueue: queue.async(flags: .barrier, execute: body)
        case .mainActor: DispatchQueue.main.async(execute: body)
        case .actor: actor.queue.async(execute: body)
        }
    }

    /// An actor with its own queue, so that keeping it busy takes no thread from other tasks.
    private actor Worker {
        nonisolated let queue = DispatchQueue(label: "test.actor")
        private nonisolated let executor: QueueExecutor

        init() { executor = QueueExecutor(queue: queue) }

        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// Where code runs, in a word.
package enum Here {
    private static let key = DispatchSpecificKey<String>()
    private static let main: Void = DispatchQueue.main.setSpecific(key: key, value: "main")

    /// Whether the code is called by the test that moves the time, and not by a task of the library.
    @TaskLocal package static var isInTest = false

    /// The name of the queue or of the actor; without one, `inline` inside a call of the test, or else `pool`.
    package static var name: String {
        _ = main
        return DispatchQueue.getSpecific(key: key) ?? (isInTest ? "inline" : "pool")
    }

    /// A queue by whose name its code is known.
    package static func queue(_ name: String) -> DispatchQueue {
        let queue = DispatchQueue(label: "test.\(name)")
        queue.setSpecific(key: key, value: name)
        return queue
    }
}

/// A global actor whose code is known by its name.
@globalActor package actor Database {
    package static let shared = Database()
    private nonisolated let executor = QueueExecutor(queue: Here.queue("database"))

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
}

/// An actor, to be a target, whose code is known by its name.
package actor Meter {
    private nonisolated let executor = QueueExecutor(queue: Here.queue("meter"))
    private let thing: Thing?

    package init(_ thing: Thing? = nil) { self.thing = thing }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
}

/// A serial queue that is suspended until a test runs it.
package final class SuspendedQueue: Sendable {
    package let queue = DispatchQueue(label: "test.queue")

    package init() { queue.suspend() }

    /// Runs the blocks that are in the queue, and leaves the queue running. Call it once.
    package func letRun() {
        queue.resume()
        queue.sync {}
    }
}
