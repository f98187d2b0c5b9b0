import Dispatch
import Foundation
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Services on a loop or queue of the host: its thread delivers, any thread may schedule, and a shutdown
/// releases everything.
@Suite(.waits("a host's loop or queue fires the timers"), .timeLimit(.minutes(60))) struct AttachmentTests {
    #if RunLoop
    // MARK: A run loop

    @Test func onARunLoopHandlersRunOnItsThread() throws {
        let host = HostRunLoop()
        let service = try unsafe TimerService(attachedTo: host.loop)
        host.run()
        let thread = try onlyThread(deliveringOn: service)
        #expect(thread != .current)
        service.shutdown()
        #expect(eventually { host.hasReturned }, "nothing is left in the loop")
    }

    @Test func onARunLoopTimersTickInTheirModeOnly() throws {
        let mode = RunLoop.Mode("test")
        let service = try TimerService(attachedTo: .current, mode: mode)
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02))
        #expect(log.count == 0)
        while log.count < 3, RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: 0.02)) {}
        #expect(log.count >= 3)
        service.shutdown()
        #expect(RunLoop.current.run(mode: mode, before: .distantFuture) == false, "nothing is left in the loop")
    }
    #endif

    // MARK: A queue

    @Test(arguments: [false, true])
    func onAQueueHandlersRunOnIt(isConcurrent: Bool) throws {
        let key = DispatchSpecificKey<Int>()
        let queue = DispatchQueue(label: "test", attributes: isConcurrent ? .concurrent : [])
        queue.setSpecific(key: key, value: 7)
        let service = try TimerService(queue: queue)
        let seen = Notes<Int?>()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: seen) { seen, _ in
            seen.append(DispatchQueue.getSpecific(key: key))
        }
        #expect(eventually { seen.all.count >= 20 })
        service.shutdown()
        let values = Set(seen.all)
        #expect(values == [7])
    }

    @Test func aQueueWaitsOnTheWallClockAndRefusesOthers() throws {
        #expect(try TimerService(queue: .global(), clock: .wall).now.clock == .wall)
        let error = #expect(throws: TimerError.self) { try TimerService(queue: .global(), clock: .continuous) }
        #expect(error?.code == .unavailable)
    }

    // MARK: poll(2)

    @Test(.needsDescriptor, arguments: TimerClock.allCases.filter(TimerDescriptor.clocks.contains))
    func polledTimersRunOnTheThreadThatProcessesThem(clock: TimerClock) throws {
        let timers = try TimerService.pollable(clock: clock)
        #expect(timers.service.now.clock == clock)
        let log = Log()
        timers.process()
        // Without a timer, or before the deadline, the descriptor is not readable.
        #expect(!Poll.isReadable(timers.descriptor, within: 0))
        let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: timers.service, target: log) {
            $0.note($1)
        }
        timers.process()
        #expect(!Poll.isReadable(timers.descriptor, within: 0))
        #expect(log.count == 0)
        timer.cancel()

        let threads = Notes<ThreadID>()
        try PreciseTimer.schedule(.every(.milliseconds(2)), on: timers.service, target: log) {
            threads.append(.current)
            $0.note($1)
            timers.process()
        }
        while log.count < 20 {
            #expect(Poll.isReadable(timers.descriptor, within: 10_000))
            timers.process()
        }
        let all = Set(threads.all)
        #expect(all == [.current])
        expectGrid(log.ticks)
        timers.service.shutdown()
        timers.process()
        #expect(log.count == 20)
    }

    @Test(.needsLinux) func polledTimersTickEvenIfTheLoopReadTheDescriptor() throws {
        let timers = try TimerService.pollable()
        let log = Log()
        try PreciseTimer.schedule(.once(after: .zero), on: timers.service, target: log) { $0.note($1) }
        #expect(Poll.isReadable(timers.descriptor, within: 10_000))
        var expirations: UInt64 = 0
        let count = unsafe read(timers.descriptor, &expirations, 8)
        #expect(count == 8)
        timers.process()
        #expect(log.count == 1)
    }

    @Test(.needsDescriptor) func anEarlierDeadlineFromAnotherThreadWakesThePoll() throws {
        let timers = try TimerService.pollable()
        let log = Log()
        try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: timers.service, target: log) { $0.note($1) }
        try Thread.start("test.earlier") {
            pause(.milliseconds(5))
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: timers.service, target: log) { $0.note($1) }
        }
        #expect(Poll.isReadable(timers.descriptor, within: 10_000))
        timers.process()
        #expect(log.count == 1)
    }

    @Test(.needsProc, .needsDescriptor) func aPolledDescriptorIsClosedWithItsTimers() async {
        // A separate process, in which no other test opens or closes descriptors.
        await #expect(processExitsWith: .success) {
            let before = ProcFS.openDescriptors
            var all = try (0..<100).map { _ in try TimerService.pollable() }
            #expect(ProcFS.openDescriptors >= before + 90)
            weak let gone = all.first?.service
            all = []
            #expect(gone == nil)
            #expect(eventually { ProcFS.openDescriptors <= before + 10 })
        }
    }

    #if Libevent
    // MARK: An event base

    @Test(arguments: TimerClock.allCases.filter(TimerDescriptor.clocks.contains))
    func onAnEventBaseHandlersRunOnItsThread(clock: TimerClock) throws {
        let base = HostEventBase()
        let service = try unsafe TimerService(attachedTo: base.base, clock: clock)
        #expect(service.now.clock == clock)
        let hasReturned = Box<Bool>()
        try Thread.start("test.host") {
            base.dispatch()
            hasReturned.value = true
        }
        let thread = try onlyThread(deliveringOn: service)
        #expect(thread != .current)
        #expect(hasReturned.value == nil, "the descriptor is added even without a timer")
        service.shutdown()
        #expect(eventually { hasReturned.value == true }, "nothing is left in the loop")
    }

    @Test func anEventBaseRemovesAShutDownServiceWhenItRunsNext() async {
        // A separate process, in which no other test opens or closes descriptors.
        await #expect(processExitsWith: .success) {
            let base = HostEventBase()
            let before = ProcFS.openDescriptors
            var services = try (0..<100).map { _ in try unsafe TimerService(attachedTo: base.base) }
            weak let gone = services.first
            #expect(ProcFS.openDescriptors >= before + 90)
            services = []
            #expect(gone == nil)
            base.runOnce()
            #expect(eventually { ProcFS.openDescriptors <= before + 10 })
        }
    }

    @Test func aServiceMayBeShutDownInsideAHandlerOnAnEventBase() throws {
        let base = HostEventBase()
        let service = try unsafe TimerService(attachedTo: base.base)
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { log, tick in
            log.note(tick)
            if tick.index >= 2 { service.shutdown() }
        }
        base.dispatch()
        #expect(log.count >= 1)
        #expect(log.ticks.last.map { $0.index >= 2 } == true)
    }
    #else
    @Test func anEventBaseIsRefusedByABuildWithoutLibevent() throws {
        let error = #expect(throws: TimerError.self) {
            guard let nowhere = unsafe OpaquePointer(bitPattern: 16) else { return }
            _ = try unsafe TimerService(attachedTo: nowhere)
        }
        #expect(error?.code == .unavailable)
    }
    #endif

    // MARK: Every mechanism

    @Test(arguments: Mechanism.attached)
    func ticksAreNeverEarlyAndAnyThreadMayScheduleAndShutDown(mechanism: Mechanism) throws {
        weak var gone: TimerService?
        do {
            let service = try TimerService(alarm: mechanism.makeAlarm())
            gone = service
            let (far, near) = (Log(), Log())
            let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: far) {
                $0.note($1)
            }
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: near) { $0.note($1) }
            #expect(eventually { near.count >= 20 }, "an earlier deadline, set by another thread")
            service.shutdown()
            #expect(timer.state == .ended(.serviceShutDown))
            expectGrid(near.ticks)
            #expect(far.count == 0)
        }
        #expect(eventually { gone == nil })
    }

    /// Expects the deadlines of a period: no tick early, no deadline lost.
    private func expectGrid(_ ticks: [PreciseTimer.Tick]) {
        var next = 0
        for tick in ticks {
            #expect(tick.index == next)
            #expect(tick.deadline <= tick.woke)
            #expect(tick.woke <= tick.delivered)
            next += 1 + tick.missed
        }
    }

    /// Returns the service's delivering thread. Expects that it never changes and that no tick is early.
    private func onlyThread(deliveringOn service: TimerService) throws -> ThreadID {
        let (log, threads) = (Log(), Notes<ThreadID>())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) {
            threads.append(.current)
            $0.note($1)
        }
        #expect(eventually { log.count >= 20 })
        timer.cancel()
        expectGrid(log.ticks)
        let all = Set(threads.all)
        #expect(all.count == 1)
        return try #require(all.first)
    }
}
