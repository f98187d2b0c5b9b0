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
    private let actor = Meter()
    /// What the place runs on; the inline place uses it for nothing.
    private let queue: DispatchQueue

    package init(_ kind: DeliveryKind) {
        self.kind = kind
        queue =
            switch kind {
            // It shares its threads with other work of the same quality of service. In the tasks' class, blocks that
            // wait here would occupy the threads of the tasks that must release them.
            case .concurrentQueue: DispatchQueue(label: "test.place", qos: .userInitiated, attributes: .concurrent)
            case .mainActor: .main
            // Keeping it busy takes no thread from other tasks.
            case .actor: actor.queue
            case .inline, .serialQueue: DispatchQueue(label: "test.place")
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
        switch kind {
        case .mainActor:
            return try PreciseTimer.schedule(
                schedule,
                on: service,
                missedTicks: missedTicks,
                target: target,
                onEnd: onEnd
            ) { @MainActor _, tick in handler(tick) }
        case .actor:
            let isolated: @Sendable (isolated Meter, PreciseTimer.Tick) async -> Void = { actor, tick in
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
        case .inline, .serialQueue, .concurrentQueue:
            return try PreciseTimer.schedule(
                schedule,
                on: service,
                missedTicks: missedTicks,
                deliver: kind == .inline ? .inline : .queue(queue),
                target: target,
                onEnd: onEnd,
                handler: { _, tick in handler(tick) }
            )
        }
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
        if kind == .inline { body() } else { queue.async(flags: .barrier, execute: body) }
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

/// An actor, to be a target, whose code is known by its name. It has a queue of its own.
package actor Meter {
    fileprivate nonisolated let queue: DispatchQueue
    private nonisolated let executor: QueueExecutor
    private let thing: Thing?

    package init(_ thing: Thing? = nil) {
        queue = Here.queue("meter")
        (executor, self.thing) = (QueueExecutor(queue: queue), thing)
    }

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
