import TestSupport
import Testing
import TimerCore
import TimerMeasurement

/// cyclictest, which measures from outside.
@Suite(.serialized)
struct RefereeTests {
    /// What it wrote on a busy machine with a period of 50 µs.
    private static let text = """
        Max CPUs = 2
        Online CPUs = 2
        Thread 0 Interval: 550
               0:       0:  423874
               0:       1:  333181
               0:       2:   41884
               0:       3:  813329
        T: 0 (25065) P: 0 I:50 C:      4 Min:  41884 Act:  813329 Avg: 403067 Max: 813329

        """

    @Test
    func itsOutputIsRead() throws {
        let output = try CyclictestOutput(Self.text, isComplete: true)
        #expect(output.latenesses == [423_874, 333_181, 41_884, 813_329])
    }

    @Test(
        arguments: [
            ("", "there is no wake-up in it"), ("WARN: nothing\n", "there is no wake-up in it"),
            (text.replacing("       0:       1:  333181\n", with: ""), "wake-up 1 is lacking"),
            (text.replacing("       0:       3:  813329\n", with: ""), "it shows 3 of 4 wake-ups"),
            (text.replacing("333181", with: "33x181"), "wake-up 1 is lacking"),
            (String(text.prefix(140)), "its last line is lacking"),
            (text.replacing("C:      4", with: "C:      x"), "its last line is lacking"),
            (text.replacing("C:      4", with: "C:"), "its last line is lacking"),
        ]
    )
    func damagedOutputIsAnErrorInOneLine(_ text: String, _ expected: String) {
        #expect {
            try CyclictestOutput(text, isComplete: true)
        } throws: { error in
            "\(error)" == "reading what cyclictest wrote (\(expected)): backend failed"
        }
    }

    @Test
    func interruptedOutputIsTakenAsFarAsItGoes() throws {
        let cut = Self.text.replacing("       0:       3:  813329\n", with: "")
        #expect(try CyclictestOutput(cut, isComplete: false).latenesses.count == 3)
    }

    @Test
    func deadlinesThatItLeftOutFollowFromItsLateness() throws {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: 1_000_000), period: 50_000)
        let recording = try CyclictestOutput(Self.text, isComplete: true).recording(of: deadlines, goal: 100)
        // Its next deadline after one that was late by 423 µs is nine periods later.
        #expect(recording.samples.map(\.index) == [0, 9, 16, 17])
        #expect(recording.samples.map(\.missed) == [8, 6, 0, 16])
        #expect(recording.samples.map(\.lateness) == [423_874, 333_181, 41_884, 813_329])
        #expect(recording.fault == nil)
        let short = try CyclictestOutput(Self.text, isComplete: true).recording(of: deadlines, goal: 10)
        #expect(short.ticks == 2)
    }

    @Test(.enabled(if: Cyclictest.path != nil))
    func itMeasuresWhereItIsInstalled() async throws {
        let cells = try await Short.measure([Row(.referee)]) { $0.loads = [.idle, .cpu(2)] }
        for cell in cells {
            #expect(cell.case.kind == .reference && cell.case.row == "cyclictest")
            #expect(cell.ticks > 0 && cell.early == 0 && cell.fault == nil)
            #expect(cell.cost.cpu > 0 && cell.cost.wakeUps > 0)
        }
    }

    @Test(.enabled(if: Cyclictest.path != nil))
    func itLeavesNoDescriptorsAndIsStopped() async {
        // A process of its own, where nobody else opens any.
        await #expect(processExitsWith: .success) {
            try await Short.turns(1, of: Row(.referee))
            let descriptors = ProcFS.openDescriptors
            #expect(try await Short.isStopped(Row(.referee)) { $0.stage == .warmUp })
            try await Short.turns(12, of: Row(.referee))
            // Dispatch opens some when anybody first waits on it, and keeps them. Each turn opens two.
            #expect(await soon { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }
}
