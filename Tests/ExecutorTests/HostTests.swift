import Dispatch
import Foundation
import Glibc
import PreciseTimer
import PreciseTimerExecutor
import TestSupport
import Testing
import TimerKernel

#if Libevent
import CLibevent
#endif

/// Tasks and actors on the loop of a host, and on a real-time thread.
@Suite(.waits("hosts run their loops"), .timeLimit(.minutes(20))) struct HostTests {
    private enum Host: CaseIterable {
        case queue, poll
        #if RunLoop
        case runLoop
        #endif
        #if Libevent
        case eventBase
        #endif
    }

    /// The number of the thread on which each step of a task ran, and its actor's.
    private static func steps(on service: TimerService) -> Task<Set<ThreadID>, any Error> {
        let executor = TimerExecutor(on: service)
        let keeper = Keeper(on: executor)
        return Task(executorPreference: executor) {
            for _ in 0..<10 {
                await keeper.note(.current)
                try await service.clock.sleep(until: service.now.advanced(by: .milliseconds(1)))
                await keeper.note(.current)
                try await Task.sleep(for: .milliseconds(1))
                await keeper.note(.current)
            }
            return await keeper.threads
        }
    }

    @Test(arguments: Host.allCases) private func tasksRunOnTheHostsThread(host: Host) async throws {
        let isOver = Box<Bool>()
        let isOnThread = try await onOwnThread {
            let thread = ThreadID.current
            let found = Box<Set<ThreadID>>()
            let watch = { @Sendable (task: Task<Set<ThreadID>, any Error>) in
                Task {
                    found.value = try await task.value
                    isOver.value = true
                }
            }
            switch host {
            case .queue:
                let queue = DispatchQueue(label: "test.host", attributes: .concurrent)
                _ = watch(Self.steps(on: try TimerService(queue: queue)))
                return eventually { isOver.value == true }
            #if RunLoop
            case .runLoop:
                let service = try TimerService(attachedTo: RunLoop.current)
                _ = watch(Self.steps(on: service))
                while isOver.value == nil { _ = RunLoop.current.run(mode: .default, before: Date() + 0.01) }
            #endif
            case .poll:
                let timers = try TimerService.pollable()
                _ = watch(Self.steps(on: timers.service))
                while isOver.value == nil {
                    var descriptor = pollfd(fd: timers.descriptor, events: Int16(POLLIN), revents: 0)
                    if unsafe poll(&descriptor, 1, 10) > 0 { timers.process() }
                }
            #if Libevent
            case .eventBase:
                let host = HostEventBase()
                let service = try unsafe TimerService(attachedTo: host.base)
                let task = watch(Self.steps(on: service))
                _ = Task {
                    _ = try await task.value
                    service.shutdown()
                }
                host.dispatch()
            #endif
            }
            return eventually { found.value == [thread] }
        }
        #expect(isOnThread)
    }

    @Test func aRealTimeThreadRunsItsTasksAndActorsWithItsPolicy() async throws {
        let service = try TimerService(.hybrid, thread: .init(policy: .fifo(priority: 80)))
        let executor = TimerExecutor(on: service)
        let keeper = Keeper(on: executor)
        let priorities = try await Task(executorPreference: executor) {
            var found = [Keeper.realTimePriority, await keeper.priority()]
            try await service.clock.sleep(until: service.now.advanced(by: .milliseconds(1)))
            found.append(Keeper.realTimePriority)
            return found
        }
        .value
        let expected: Int32 = service.grant.description.contains("refused") ? 0 : 80
        #expect(priorities == [expected, expected, expected])
    }
}

/// An actor on an executor.
private actor Keeper {
    private let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unownedExecutor }
    private(set) var threads: Set<ThreadID> = []

    init(on executor: TimerExecutor) { self.executor = executor }

    func note(_ thread: ThreadID) { threads.formUnion([thread, .current]) }

    func priority() -> Int32 { Self.realTimePriority }

    /// The calling thread's priority, if it has a real-time policy; otherwise 0.
    static var realTimePriority: Int32 {
        var parameters = sched_param()
        unsafe sched_getparam(0, &parameters)
        return parameters.sched_priority
    }
}
