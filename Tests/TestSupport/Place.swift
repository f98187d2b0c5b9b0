internal import Dispatch
package import PreciseTimer

/// The kinds of delivery.
package enum DeliveryKind: String, CaseIterable, Codable, Sendable {
    case inline, serialQueue, concurrentQueue, mainActor, actor

    /// Those where a tick leaves the alarm's thread.
    package static let hops: [DeliveryKind] = [.serialQueue, .concurrentQueue, .mainActor, .actor]
}

/// One place where handlers run, which can be kept busy.
package final class Place: Sendable {
    package let kind: DeliveryKind
    private let queue: DispatchQueue
    private let actor = Worker()
    private static let mainKey = DispatchSpecificKey<Bool>()
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    package init(_ kind: DeliveryKind) {
        self.kind = kind
        // A concurrent queue takes its threads from those of its quality of service. In the tasks' own class, blocks that
        // wait here would take theirs, and those tasks are to let the blocks go on.
        queue =
            kind == .concurrentQueue
            ? DispatchQueue(label: "test.place", qos: .userInitiated, attributes: .concurrent)
            : DispatchQueue(label: "test.place")
        DispatchQueue.main.setSpecific(key: Self.mainKey, value: true)
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
        actor.queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Whether the caller is there. Of the inline place, whether it is on no other.
    package var isHere: Bool {
        switch kind {
        case .inline: DispatchQueue.getSpecific(key: Self.key) == nil
        case .serialQueue, .concurrentQueue, .actor: DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
        // Not the main thread: once that waits for Dispatch for ever, its queue is run on any.
        case .mainActor: DispatchQueue.getSpecific(key: Self.mainKey) == true
        }
    }

    /// Schedules a timer that is delivered here. An actor is its own target; the others have the one that is given.
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
        case .mainActor: delivery = .mainActor
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

    /// Keeps the place busy until a gate is opened; it is when this returns.
    package func block(until gate: Gate) async {
        let isBusy = Gate()
        run {
            isBusy.open()
            gate.pass()
        }
        await isBusy.pass()
    }

    /// Waits until all that is on its way to the place has arrived and is over.
    package func settle() async {
        // A hop to an actor is a task, which may not even have come to the actor yet.
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

    /// An actor with a thread of its own, so that keeping it busy takes none from other tasks.
    private actor Worker {
        nonisolated let queue = DispatchQueue(label: "test.actor")
        private nonisolated let executor: QueueExecutor

        init() { executor = QueueExecutor(queue: queue) }

        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    }

    private final class QueueExecutor: SerialExecutor {
        private let queue: DispatchQueue

        init(queue: DispatchQueue) { self.queue = queue }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }
}
