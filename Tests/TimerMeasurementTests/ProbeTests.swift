import TestSupport
import Testing
import TimerAlarms
import TimerCore
import TimerMeasurement

/// What a recorded tick costs the one who ticks.
struct ProbeTests {
    /// The address of what is recorded into stays: an array that had to grow, or that somebody else held, would have moved.
    @Test(arguments: [Recording.Counting.calls, .deadlines])
    func recordingMovesNothingInMemory(_ counting: Recording.Counting) {
        let deadlines = Deadlines(start: KernelClock.now(.suspending), period: 1000)
        var recording = Recording(of: deadlines, goal: 1000)
        let before = Self.address(of: recording)
        while !recording.isComplete { recording.record(at: KernelClock.now(.suspending), counting) }
        #expect(recording.accounted >= 1000)
        #expect(Self.address(of: recording) == before)
        // It can fail: what is shared is copied, and allocated, by the next tick.
        var other = Recording(of: deadlines, goal: 1000)
        let (held, place) = (other, Self.address(of: other))
        other.record(at: KernelClock.now(.suspending), counting)
        #expect(Self.address(of: other) != place)
        #expect(held.ticks == 0)
    }

    @Test
    func aProbeRecordsWhereItAlwaysDid() {
        let deadlines = Deadlines(start: KernelClock.now(.suspending), period: 1000)
        let probe = Probe(deadlines, goal: 1000)
        let before = Self.address(of: probe.result)
        while probe.record(at: KernelClock.now(.suspending), .calls) {}
        #expect(probe.result.ticks == 1000)
        #expect(Self.address(of: probe.result) == before)
    }

    /// Of the first sample's room, whether or not there is a sample.
    @Test
    func whoWorksStillIsNotComplete() async throws {
        let deadlines = Deadlines(start: KernelClock.now(.suspending), period: 1_000_000)
        let probe = Probe(deadlines, goal: 1, work: 100_000_000)
        try Thread.start("test.handler") { _ = probe.record(at: deadlines.start, .calls) }
        #expect(await soon { probe.progress.ticks == 1 })
        #expect(await soon { probe.progress.isComplete })
        #expect(KernelClock.now(.suspending) >= deadlines.start.moved(by: 100_000_000))
    }

    private static func address(of recording: Recording) -> UInt {
        unsafe recording.samples.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}
