import Dispatch
import Foundation
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Alarms on a loop or queue of the host, driven by hand.
@Suite(.waits("a host's loop polls real descriptors"), .timeLimit(.minutes(60))) struct HostedAlarmTests {
    /// A handler may call the loop's own method, or run the loop. An expiry in that call must not be lost.
    @Test(.needsDescriptor) func anExpiryDuringANestedCallStaysReadable() throws {
        let (alarm, firings) = (try PollableAlarm(.suspending), Count())
        alarm.start { [weak alarm] in
            guard let alarm, firings.add(1) == 1 else { return }
            do { try alarm.set(alarm.now) } catch { Issue.record("\(error)") }
            _ = Poll.isReadable(alarm.descriptor, within: 10_000)
            alarm.process()
        } onFailure: {
            Issue.record("\($0)")
        }
        try alarm.set(alarm.now)
        #expect(Poll.isReadable(alarm.descriptor, within: 10_000))
        alarm.process()
        #expect(firings.value == 1, "two firings never overlap")
        #expect(Poll.isReadable(alarm.descriptor, within: 0))
        alarm.process()
        #expect(firings.value == 2)
        alarm.stop()
    }

    /// The firing waits in the queue when the alarm is stopped.
    @Test func aFiringThatWaitsInAQueueDoesNotBeginAfterAStop() throws {
        let (queue, firings) = (SuspendedQueue(), Count())
        let alarm = try DispatchAlarm(.suspending, queue: queue.queue)
        try alarm.start(onFire: { firings.add(1) }, onFailure: { Issue.record("\($0)") })
        alarm.set(alarm.now)
        pause(.milliseconds(5))
        alarm.stop()
        queue.letRun()
        #expect(firings.value == 0)
    }

    /// Another file has the number of the descriptor. It is not a timer: Linux answers EINVAL.
    @Test(.needsDescriptor) func aDescriptorWhoseNumberAnotherFileHasIsLostAndNotClosed() throws {
        let number = try loseDescriptor()
        #expect(fcntl(number, F_GETFD) >= 0, "the file is still open")
        close(number)
    }

    /// Gives the number of a timer to another file. Returns it when the timer has ended.
    private func loseDescriptor() throws -> CInt {
        let timer = try TimerDescriptor(.suspending)
        let other = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        try #require(other >= 0)
        let number = timer.number
        #expect(dup2(other, number) == number)
        close(other)
        var refusal: TimerError?
        do throws(TimerError) { try timer.set(TimerInstant(nanoseconds: 1)) } catch { refusal = error }
        let isLost = timer.isLost
        #expect(refusal != nil && isLost)
        if Platform.isLinux { #expect(refusal?.errno == EINVAL) }
        return number
    }

    #if RunLoop
    /// The next alarm's trial counts these descriptors as taken.
    @Test(.needsProc) func theDescriptorsOfARunLoopAreOpenWhenItsStartReturns() async {
        // A separate process, in which no other test opens descriptors.
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
