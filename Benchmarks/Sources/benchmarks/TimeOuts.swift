import ArgumentParser
import Dispatch
import NIOCore
import NIOEmbedded
import PreciseTimer
import PreciseTimerPatterns

/// Operations with a time-out, which end in time.
struct TimeOuts: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "time-outs",
        abstract: "withTimeout beside a task group that races with Task.sleep."
    )

    @OptionGroup var options: Options

    private static let count = 20_000

    static func tables(_ options: Options) throws -> [Table] {
        var figures = Side.allCases.map { _ in Figures() }
        progress("time-outs")
        for _ in options.rounds(with: 1) {
            for (index, side) in Side.allCases.enumerated() { figures[index].values.append(run(side)) }
        }
        let (own, reference, floor) = (figures[0], figures[1], figures[2])
        let name = Side.ours.rawValue
        let why = "PreciseTimer also schedules a timer, cancels it, and passes on a cancellation"
        let behind = [
            Behind.remark([(name, own.ratio(to: reference))], above: Behind.peer, "the task group", ""),
            Behind.remark([(name, own.ratio(to: floor))], above: Behind.floor, "the bare task", why),
        ]
        var table = Table(
            title: "A time-out around an operation that ends at once; × a task group with Task.sleep",
            columns: ["", "time per operation", "÷ bare task"],
            remarks: [
                "20,000 operations one after the other, in one task. The bare task is the floor: a task, awaited, "
                    + "without a time-out."
            ] + behind.compactMap(\.self)
        )
        for (side, figure) in zip(Side.allCases, figures) {
            let text = figure.text(.nanoseconds, against: side == .taskGroup ? nil : reference)
            table.rows.append([side.rawValue, text, side == .bare ? "" : figure.quotient(floor)])
        }
        return [table]
    }

    private enum Side: String, CaseIterable {
        case ours = "withTimeout"
        case taskGroup = "task group with Task.sleep"
        case bare = "bare task"
    }

    /// Nanoseconds per operation.
    private static func run(_ side: Side) -> Double {
        let isOver = DispatchSemaphore(value: 0)
        let time = Clock.time {
            Task {
                for _ in 0..<count {
                    switch side {
                    case .ours: _ = try? await withTimeout(.seconds(3_600)) { 1 }
                    case .taskGroup: _ = try? await raceWithSleep { 1 }
                    case .bare: _ = await Task { 1 }.value
                    }
                }
                isOver.signal()
            }
            isOver.wait()
        }
        return time / Double(count)
    }

    /// The usual way to write a time-out without this library.
    private static func raceWithSleep(_ operation: @escaping @Sendable () async throws -> Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask(operation: operation)
            group.addTask {
                try await Task.sleep(for: .seconds(3_600))
                throw CancellationError()
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}

/// Idle time-outs of many connections, which are postponed with each byte.
struct IdleRefresh: Measurement {
    static let configuration = CommandConfiguration(
        commandName: "idle-time-outs",
        abstract: "IdleTimeouts beside SwiftNIO's idle handler and a dictionary of Dispatch timers."
    )

    @OptionGroup var options: Options

    private static let keys = 10_000
    private static let refreshes = 1_000_000

    static func tables(_ options: Options) throws -> [Table] {
        var figures = Side.allCases.map { _ in Figures() }
        progress("idle time-outs")
        for _ in options.rounds(with: keys) {
            for (index, side) in Side.allCases.enumerated() { figures[index].values.append(try run(side)) }
        }
        let (own, nio, reference) = (figures[0], figures[1], figures[2])
        var table = Table(
            title: "Postponing one of 10,000 idle time-outs; × a dictionary of Dispatch timers",
            columns: ["", "time per refresh"],
            remarks: [
                "IdleTimeouts finds the key in its dictionary under a lock. The dictionary of Dispatch timers has no "
                    + "lock, and does nothing about a timer that is about to fire. SwiftNIO's handler belongs to a "
                    + "channel, so it looks up no key, and a read only sets an instant, on the channel's own thread."
            ]
        )
        for (side, figure) in zip(Side.allCases, figures) {
            table.rows.append([side.rawValue, figure.text(.nanoseconds, against: side == .dispatch ? nil : reference)])
        }
        table.remarks += [(Side.dispatch, reference), (.nio, nio)]
            .compactMap { side, other in
                let name = Side.ours.rawValue
                return Behind.remark([(name, own.ratio(to: other))], above: Behind.peer, "the \(side.rawValue)", "")
            }
        return [table]
    }

    private enum Side: String, CaseIterable {
        case ours = "IdleTimeouts"
        case nio = "SwiftNIO's IdleStateHandler"
        case dispatch = "dictionary of Dispatch timers"
    }

    /// Nanoseconds per refresh.
    private static func run(_ side: Side) throws -> Double {
        switch side {
        case .ours: ours()
        case .nio: try nio()
        case .dispatch: dispatch()
        }
    }

    /// The time of a refresh of one of many keys. The keys come in a fixed random order.
    private static func time(_ refresh: (Int) -> Void) -> Double {
        var state: UInt64 = 1
        for key in 0..<keys { refresh(key) }
        let time = Clock.time {
            for _ in 0..<refreshes {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                refresh(Int((state >> 33) % UInt64(keys)))
            }
        }
        return time / Double(refreshes)
    }

    private static func ours() -> Double {
        let timeouts = IdleTimeouts<Int>(target: TimerService.default) { _, _ in }
        return time { timeouts.refresh($0, after: .seconds(30)) }
    }

    private static func dispatch() -> Double {
        let queue = DispatchQueue(label: "benchmark")
        var timers: [Int: any DispatchSourceTimer] = [:]
        defer { for timer in timers.values { timer.cancel() } }
        return time { key in
            if let timer = timers[key] { return timer.schedule(deadline: .now() + 30) }
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler {}
            timer.schedule(deadline: .now() + 30)
            timer.activate()
            timers[key] = timer
        }
    }

    private static func nio() throws -> Double {
        let loop = EmbeddedEventLoop()
        let channels = try (0..<keys)
            .map { _ in
                let channel = EmbeddedChannel(loop: loop)
                try channel.pipeline.syncOperations.addHandler(IdleStateHandler(readTimeout: .seconds(30)))
                try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
                return channel
            }
        let bytes = ByteBuffer(bytes: [1])
        let time = time { key in
            channels[key].pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            channels[key].pipeline.syncOperations.fireChannelReadComplete()
            if (try? channels[key].readInbound(as: ByteBuffer.self)) == nil { preconditionFailure("a lost read") }
        }
        for channel in channels { _ = try channel.finish() }
        return time
    }
}
