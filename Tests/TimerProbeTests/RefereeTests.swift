import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// cyclictest, a program that measures by itself.
@Suite(.works("cyclictest measures by itself"))
struct RefereeTests {
    /// Output from a busy machine with a period of 50 µs.
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

    @Test func theOutputHasALatenessForEachWakeUp() throws {
        let output = try CyclictestOutput(Self.text, isComplete: true)
        #expect(output.latenesses == [423_874, 333_181, 41_884, 813_329])
    }

    @Test(
        arguments: [
            ("", "it has no wake-up"), ("WARN: nothing\n", "it has no wake-up"),
            (text.replacing("       0:       1:  333181\n", with: ""), "wake-up 1 is missing"),
            (text.replacing("       0:       3:  813329\n", with: ""), "it shows 3 of 4 wake-ups"),
            (text.replacing("333181", with: "33x181"), "wake-up 1 is missing"),
            (String(text.prefix(140)), "its last line is missing"),
            (text.replacing("C:      4", with: "C:      x"), "its last line is missing"),
            (text.replacing("C:      4", with: "C:"), "its last line is missing"),
        ]
    )
    func damagedOutputIsAnErrorOfOneLine(_ text: String, _ expected: String) {
        let problem = #expect(throws: Problem.self) { try CyclictestOutput(text, isComplete: true) }
        #expect(problem?.description == "the output of cyclictest is damaged: \(expected)")
    }

    @Test func interruptedOutputMayBeCutShort() throws {
        let cut = Self.text.replacing("       0:       3:  813329\n", with: "")
        #expect(try CyclictestOutput(cut, isComplete: false).latenesses.count == 3)
    }

    @Test func skippedDeadlinesFollowFromTheLateness() throws {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: 1_000_000), period: 50_000)
        let recording = try CyclictestOutput(Self.text, isComplete: true).recording(of: deadlines, goal: 100)
        // After a lateness of 423 µs, the next deadline is nine periods later.
        #expect(recording.samples.map(\.index) == [0, 9, 16, 17])
        #expect(recording.samples.map(\.missed) == [8, 6, 0, 16])
        #expect(recording.samples.map(\.lateness) == [423_874, 333_181, 41_884, 813_329])
        #expect(recording.problem == nil)
        let short = try CyclictestOutput(Self.text, isComplete: true).recording(of: deadlines, goal: 10)
        #expect(short.ticks == 2)
    }

    @Test(.enabled(if: Cyclictest.obstacle == nil))
    func anInstalledCyclictestMeasures() throws {
        let cells = try Short.measure([Row(.referee)]) { $0.loads = [.idle, .cpu(2)] }
        for cell in cells {
            #expect(cell.key.kind == .reference && cell.key.row == "cyclictest")
            #expect(cell.ticks > 0 && cell.early == 0 && cell.problem == nil)
            #expect(cell.cost.cpu > 0 && cell.cost.wakeUps > 0)
        }
    }

    @Test(.enabled(if: Cyclictest.obstacle == nil))
    func cyclictestCanBeStoppedAndLeavesNoDescriptors() async {
        // In its own process, whose descriptors no other test opens.
        await #expect(processExitsWith: .success) {
            try Short.turns(1, of: Row(.referee))
            let descriptors = ProcFS.openDescriptors
            #expect(try Short.isStopped(Row(.referee)) { $0.stage == .warmUp })
            try Short.turns(12, of: Row(.referee))
            // Dispatch opens some descriptors at its first use, and keeps them. Each turn opens two.
            #expect(await soon { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }
}
