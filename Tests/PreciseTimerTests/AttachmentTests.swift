// Timers on a loop or queue of the host: as a service, and as an alarm that is driven by hand.
import Dispatch
import Foundation
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// The host's thread delivers, any thread may schedule, and a shutdown releases everything.
@Suite(.waits("a host's loop or queue fires the timers"), .timeLimit(.minutes(60))) struct AttachmentTests {
    private let log = Log()
    private let threads = Notes<ThreadID>()

    /// Schedules a timer that notes its ticks and their threads.
    @discardableResult private func schedule(
        _ schedule: PreciseTimer.Schedule = .every(.milliseconds(1)),
        on service: TimerService,
        then body: @escaping @Sendable (PreciseTimer.Tick) -> Void = { _ in }
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: service, target: log) { [threads] log, tick in
            threads.append(.current)
            log.note(tick)
            body(tick)
        }
    }

    /// Expects that another thread delivers twenty ticks, always the same, until the service is shut down.
    private func expectTicksOnOneOtherThread(_ service: TimerService) throws {
        try schedule(.once(after: .seconds(3_600)), on: service)
        let timer = try schedule(on: service)
        #expect(eventually { log.count >= 20 }, "an earlier deadline, set by another thread")
        timer.cancel()
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
        let all = Set(threads.all)
        #expect(all.count == 1 && all != [.current])
    }

    #if RunLoop
    @Test func onARunLoopHandlersRunOnItsThread() throws {
        let host = HostRunLoop()
        let service = try unsafe TimerService(attachedTo: host.loop)
        host.run()
        try expectTicksOnOneOtherThread(service)
        service.shutdown()
        #expect(eventually { host.hasReturned }, "nothing is left in the loop")
    }
    #endif

    @Test(arguments: [false, true]) func onAQueueHandlersRunOnIt(isConcurrent: Bool) throws {
        let (key, seen) = (DispatchSpecificKey<Int>(), Notes<Int?>())
        let queue = DispatchQueue(label: "test", attributes: isConcurrent ? .concurrent : [])
        queue.setSpecific(key: key, value: 7)
        #expect(refusal { try TimerService(queue: queue, clock: .continuous) }?.code == .unavailable)
        let service = try TimerService(queue: queue)
        let far = try schedule(.once(after: .seconds(3_600)), on: service)
        try schedule(on: service) { _ in seen.append(DispatchQueue.getSpecific(key: key)) }
        #expect(eventually { seen.all.count >= 20 }, "an earlier deadline, set by another thread")
        service.shutdown()
        #expect(Set(seen.all) == [7] && far.state == .ended(.serviceShutDown))
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
    }

    @Test func polledTimersRunOnTheThreadThatProcessesThem() throws {
        let timers = try TimerService.pollable()
        timers.process()
        #expect(!Poll.isReadable(timers.descriptor, within: 0), "there is no timer")
        let timer = try schedule(.once(after: .seconds(3_600)), on: timers.service)
        timers.process()
        #expect(!Poll.isReadable(timers.descriptor, within: 0) && log.count == 0, "it is before the deadline")
        timer.cancel()
        try schedule(.every(.milliseconds(2)), on: timers.service) { _ in timers.process() }
        while log.count < 20 {
            try #require(Poll.isReadable(timers.descriptor, within: 10_000))
            timers.process()
        }
        #expect(Set(threads.all) == [.current])
        #expect(log.ticks.flaw(every: .milliseconds(2)) == nil)
        timers.service.shutdown()
        timers.process()
        #expect(log.count == 20)
    }

    @Test func polledTimersTickEvenIfTheLoopReadTheDescriptor() throws {
        let timers = try TimerService.pollable()
        try schedule(.once(after: .zero), on: timers.service)
        #expect(Poll.isReadable(timers.descriptor, within: 10_000))
        var expirations: UInt64 = 0
        #expect(unsafe read(timers.descriptor, &expirations, 8) == 8)
        timers.process()
        #expect(log.count == 1)
    }

    /// Expects that a hundred objects have descriptors, and that these are closed with them. To be called in a process
    /// of its own, in which no other test opens or closes descriptors.
    private static func expectDescriptorsToCloseWith(
        _ make: () throws -> AnyObject,
        runLoop: () -> Void = {}
    ) throws {
        let before = ProcFS.openDescriptors
        var all = try (0..<100).map { _ in try make() }
        #expect(ProcFS.openDescriptors >= before + 90)
        weak let gone = all.first
        all = []
        #expect(gone == nil)
        runLoop()
        #expect(eventually { ProcFS.openDescriptors <= before + 10 })
    }

    @Test func aPolledDescriptorIsClosedWithItsTimers() async {
        await #expect(processExitsWith: .success) {
            try AttachmentTests.expectDescriptorsToCloseWith { try TimerService.pollable() }
        }
    }

    #if Libevent
    @Test func anEventBaseRemovesAShutDownServiceWhenItRunsNext() async {
        await #expect(processExitsWith: .success) {
            let base = HostEventBase()
            let make = { try unsafe TimerService(attachedTo: base.base) }
            try AttachmentTests.expectDescriptorsToCloseWith(make) { base.runOnce() }
        }
    }

    @Test func onAnEventBaseHandlersRunOnItsThread() throws {
        let (base, hasReturned) = (HostEventBase(), Gate())
        let service = try unsafe TimerService(attachedTo: base.base)
        try Thread.start("test.host") {
            base.dispatch()
            hasReturned.open()
        }
        try expectTicksOnOneOtherThread(service)
        #expect(!hasReturned.isPassable, "the descriptor is added even without a timer")
        service.shutdown()
        #expect(eventually { hasReturned.isPassable }, "nothing is left in the loop")
    }

    @Test func aServiceMayBeShutDownInsideAHandlerOnAnEventBase() throws {
        let base = HostEventBase()
        let service = try unsafe TimerService(attachedTo: base.base)
        try schedule(on: service) { if $0.index >= 2 { service.shutdown() } }
        base.dispatch()
        #expect(log.ticks.last.map { $0.index >= 2 } == true)
    }

    /// libevent calls only the ready events of the highest priority, and one of them is always ready here. A base gets
    /// its priorities before the service is attached, or afterwards.
    @Test(arguments: [false, true])
    func timersTickBesideAnEventOfTheHighestPriority(isAttachedFirst: Bool) throws {
        let (base, always) = (HostEventBase(), Pipe())
        try always.fileHandleForWriting.close()
        if !isAttachedFirst { #expect(base.setPriorities(3)) }
        let service = try unsafe TimerService(attachedTo: base.base)
        if isAttachedFirst { #expect(base.setPriorities(3)) }
        try schedule(on: service)
        #expect(base.watch(always.fileHandleForReading.fileDescriptor))
        let areThere = eventually {
            base.runOnce()
            return log.count >= 3
        }
        #expect(areThere)
        service.shutdown()
        for _ in 0..<2 { base.runOnce() }
    }
    #else
    @Test func anEventBaseIsRefusedByABuildWithoutLibevent() throws {
        #expect(refusal { try unsafe TimerService(attachedTo: OpaquePointer(bitPattern: 16)!) }?.code == .unavailable)
    }
    #endif
}

@Suite(.waits("a host's loop polls real descriptors"), .timeLimit(.minutes(60))) struct HostedAlarmTests {
    /// An alarm that has begun, and the number of its firings, of which each may do something.
    private func begunAlarm(
        _ clock: TimerClock = .suspending,
        then act: @escaping @Sendable (_ alarm: PollableAlarm, _ firing: Int) -> Void = { _, _ in }
    ) throws -> (PollableAlarm, Count) {
        let (alarm, firings) = (try PollableAlarm(clock), Count())
        alarm.start { [weak alarm] in
            let number = firings.add(1)
            if let alarm { act(alarm, number) }
        } onFailure: {
            Issue.record("\($0)")
        }
        return (alarm, firings)
    }

    /// The first firing sets the alarm again, and then calls the loop's own method, as a second thread may. Meanwhile
    /// nothing can be read: that thread would turn in its loop until the first one's handler returns. An edge-triggered
    /// epoll tells of each expiry once, and the refused call has used it up.
    @Test func anExpiryDuringAnotherCallIsToldAgainWhenThatReturns() throws {
        let epoll = EdgeTriggeredLoop()
        let (alarm, firings) = try begunAlarm { alarm, number in
            if number > 1 { return }
            #expect(throws: Never.self) { try alarm.set(alarm.now) }
            #expect(epoll.isTold(within: 10_000))
            alarm.process()
            #expect(!Poll.isReadable(alarm.descriptor, within: 0))
        }
        try alarm.set(alarm.now)
        epoll.watch(alarm.descriptor)
        #expect(epoll.isTold(within: 10_000))
        alarm.process()
        #expect(firings.value == 1, "two firings never overlap")
        #expect(epoll.isTold(within: 10_000) && Poll.isReadable(alarm.descriptor, within: 0))
        alarm.process()
        #expect(firings.value == 2 && !epoll.isTold(within: 0))
        alarm.stop()
    }

    /// Half of the handlers are a little longer than the period: deadlines pass while the other thread is refused.
    @Test func twoThreadsOfAnEdgeTriggeredLoopServeEveryDeadline() async throws {
        let (epoll, timers, log) = (EdgeTriggeredLoop(), try TimerService.pollable(), Log())
        epoll.watch(timers.descriptor)
        try PreciseTimer.schedule(.every(.milliseconds(2)), on: timers.service, target: log) { log, tick in
            log.note(tick)
            pause(log.count % 2 == 0 ? .microseconds(2_200) : .microseconds(1_800))
        }
        try await onThreads(2) { _ in while log.count < 200, epoll.isTold(within: 10_000) { timers.process() } }
        #expect(log.count >= 200 && log.ticks.flaw(every: .milliseconds(2)) == nil)
        timers.service.shutdown()
    }

    /// The firing waits in the queue when the alarm is stopped.
    @Test func aFiringThatWaitsInAQueueDoesNotBeginAfterAStop() throws {
        let (queue, firings) = (SuspendedQueue(), Count())
        let alarm = try DispatchAlarm(.suspending, queue: queue.queue)
        try alarm.start(onFire: { firings.add(1) }, onFailure: { Issue.record("\($0)") })
        try alarm.set(alarm.now)
        pause(.milliseconds(5))
        alarm.stop()
        queue.letRun()
        #expect(firings.value == 0)
    }

    /// The number belongs to another file, which a call would read.
    @Test func aNeedlessCallNeitherReadsNorFires() throws {
        let ((alarm, firings), other) = (try begunAlarm(), Pipe())
        for deadline in [nil, alarm.now.advanced(by: .seconds(3_600)), alarm.now] {
            try alarm.set(deadline)
            alarm.process()
        }
        #expect(firings.value == 1, "it came to the last deadline, and used that up")
        try other.fileHandleForWriting.write(contentsOf: Data(count: 8))
        #expect(dup2(other.fileHandleForReading.fileDescriptor, alarm.descriptor) == alarm.descriptor)
        alarm.process()
        #expect(Poll.isReadable(alarm.descriptor, within: 0) && firings.value == 1)
    }

    /// The kernel may be late with an expiry that the clock shows already.
    @Test func anExpiryThatComesAfterTheCallLeavesNothingToRead() throws {
        let (alarm, firings) = try begunAlarm()
        try alarm.set(alarm.now)
        let later = try TimerDescriptor(.suspending, isBlocking: false)
        try later.set(alarm.now.advanced(by: .milliseconds(20)))
        #expect(dup2(later.number, alarm.descriptor) == alarm.descriptor)
        alarm.process()
        #expect(firings.value == 1 && !Poll.isReadable(alarm.descriptor, within: 40))
    }

    /// The wake-up for a refused call comes after a setting to a later instant.
    @Test func aCallAfterAWakeUpIsNotTakenForANeedlessOne() throws {
        let (alarm, firings) = try begunAlarm { alarm, number in
            if number > 1 { return }
            alarm.process()
            #expect(throws: Never.self) { try alarm.set(alarm.now.advanced(by: .seconds(3_600))) }
        }
        try alarm.set(alarm.now)
        alarm.process()
        #expect(Poll.isReadable(alarm.descriptor, within: 10_000))
        alarm.process()
        #expect(firings.value == 2 && !Poll.isReadable(alarm.descriptor, within: 0))
        alarm.stop()
    }

    /// A step of the wall clock makes the descriptor readable, long before the deadline.
    @Test func aCallOnTheWallClockLooksAtTheDescriptor() throws {
        let (alarm, firings) = try begunAlarm(.wall)
        try alarm.set(alarm.now.advanced(by: .seconds(3_600)))
        alarm.process()
        #expect(firings.value == 0)
        // In place of a step: another thread's timer.
        let past = try TimerDescriptor(.suspending)
        try past.set(TimerInstant(nanoseconds: 1))
        #expect(dup2(past.number, alarm.descriptor) == alarm.descriptor)
        alarm.process()
        #expect(firings.value == 1 && !Poll.isReadable(alarm.descriptor, within: 0))
        _ = consume past
    }

    /// The other file is not a timer: Linux answers EINVAL.
    @Test func aDescriptorWhoseNumberAnotherFileHasIsLostAndNotClosed() throws {
        let other = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        try #require(other >= 0)
        let number: CInt
        do {
            let timer = try TimerDescriptor(.suspending)
            number = timer.number
            #expect(dup2(other, number) == number)
            var refusal: TimerError?
            do throws(TimerError) { try timer.set(TimerInstant(nanoseconds: 1)) } catch { refusal = error }
            let isLost = timer.isLost
            #expect(isLost && refusal?.errno == EINVAL)
        }
        #expect(fcntl(number, F_GETFD) >= 0, "the file is still open")
        close(number)
        close(other)
    }

    #if RunLoop
    /// The next alarm's trial counts these descriptors as taken.
    @Test func theDescriptorsOfARunLoopAreOpenWhenItsStartReturns() async {
        await #expect(processExitsWith: .success) {
            DispatchDescriptors.open()
            let alarms = (0..<40).map { _ in RunLoopAlarm() }
            for alarm in alarms {
                try alarm.start(onFire: {}, onFailure: { _ in })
                let atOnce = ProcFS.eventDescriptors
                pause(.milliseconds(5))
                #expect(ProcFS.eventDescriptors == atOnce)
            }
            withExtendedLifetime(alarms) {}
        }
    }
    #endif
}
