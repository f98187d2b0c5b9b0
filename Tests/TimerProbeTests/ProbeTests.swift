import HostSystem
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Recording ticks on any thread.
@Suite(.works("threads record at the same time")) struct ProbeTests {
    /// An array that grows, or that is shared, would move.
    @Test(arguments: [Recording.Counting.calls, .deadlines])
    func recordingMovesNothingInMemory(_ counting: Recording.Counting) {
        let deadlines = Deadlines(start: TimerClock.suspending.now, period: 1000)
        var recording = Recording(of: deadlines, goal: 1000)
        let before = Self.address(of: recording)
        while !recording.isComplete { recording.record(at: TimerClock.suspending.now, counting) }
        #expect(recording.accounted >= 1000)
        #expect(Self.address(of: recording) == before)
        // This check can fail: the next tick copies a shared recording.
        var other = Recording(of: deadlines, goal: 1000)
        let (held, place) = (other, Self.address(of: other))
        other.record(at: TimerClock.suspending.now, counting)
        #expect(Self.address(of: other) != place)
        #expect(held.ticks == 0)
    }

    @Test func aProbeRecordsInPlace() {
        let deadlines = Deadlines(start: TimerClock.suspending.now, period: 1000)
        let probe = Probe(deadlines, goal: 1000)
        let before = Self.address(of: probe.result)
        while probe.record(at: TimerClock.suspending.now, .calls) {}
        #expect(probe.result.ticks == 1000)
        #expect(Self.address(of: probe.result) == before)
    }

    @Test func aWorkingHandlerIsNotComplete() async throws {
        let deadlines = Deadlines(start: TimerClock.suspending.now, period: 1_000_000)
        let probe = Probe(deadlines, goal: 1, work: .milliseconds(100))
        try KernelThread.start("test.handler") { _ = probe.record(at: deadlines.start, .calls) }
        #expect(await soon { probe.progress.ticks == 1 })
        #expect(await soon { probe.progress.isComplete })
        #expect(TimerClock.suspending.now >= deadlines.start.advanced(by: .milliseconds(100)))
    }

    /// A turn once lacked the cause of its last tick.
    @Test func aCompleteProbeHasTheCauseOfItsLastTick() throws {
        for _ in 0..<200 {
            let deadlines = Deadlines(start: TimerClock.suspending.now, period: 1_000_000)
            let watch = LateWatch(threshold: 0)
            let probe = Probe(deadlines, goal: 1, watch: watch)
            let tick = deadlines.start.advanced(by: .milliseconds(1))
            try KernelThread.start("test.handler") { _ = probe.record(at: tick, .calls) }
            while !probe.progress.isComplete {}
            try #require(watch.late.count == 1)
        }
    }

    /// The address of the room for the first sample.
    private static func address(of recording: Recording) -> UInt {
        unsafe recording.samples.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}
