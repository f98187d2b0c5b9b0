#if Instrument && DEBUG
import PreciseTimer
import Testing
import TimerKernel

@testable import BackendComparison

/// What `--thread` asks, and what the system says to it.
@Suite struct ThreadWishesTests {
    @Test(arguments: [
        "fifo:80", "cpu:1", "cpu:0,2-3", "slack:50us", "slice:1ms", "slice:0",
        "locked", "idle:0", "idle:20us", "spin:200us", "budget:20%", "fifo:80 cpu:1 locked idle:0",
    ])
    func wishesAreReadAndKept(text: String) throws { #expect(try ThreadWishes.parse(text).text == text) }

    @Test(arguments: [
        "", " ", "fifo", "fifo:eighty", "fifo:", "normal", "rr:1", "deadline:200us:500us:1ms", "cpu:", "cpu:1,",
        "cpu:3-1", "cpu:65536",
        "cpu:-1", "cpu:0-99999999999999999999", "slack", "slack:1", "slice:soon", "locked:1", "idle", "idle:1", "spin:",
        "budget:0", "budget:95%", "budget:nan", "fifo:80,cpu:1", "fast",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Failure.self) { try ThreadWishes.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    private func ask(_ text: String) throws -> [String] {
        let rows = try NamedRow.parse("timerfd,dispatch,hybrid,task-sleep,bare")
        return try ThreadWishes.parse(text).ask(for: rows, clock: .suspending)
    }

    /// Fault 11: wishes that the system refused were measured anyway. There is no processor of that number.
    @Test func whatTheSystemRefusesIsRefusedBeforeTheMeasurement() throws {
        let problem = try #require(throws: Failure.self) { try ask("cpu:4095") }
        #expect(problem.description.contains(/^the system refuses affinity.*errno 22/))
    }

    @Test(arguments: ["fifo:100", "slack:0ns", "slice:1us", "spin:2s", "idle:3000s"])
    func aWishThatMakesNoSenseIsRefused(text: String) { #expect(throws: Failure.self) { try ask(text) } }

    /// Setting the timer slack needs no privilege, and the budget is for hybrid alone.
    @Test func rowsWhoseThreadsAreNotOursAreNamed() throws {
        #expect(try [ask("slack:1us"), ask("budget:20%")] == [["dispatch", "task-sleep"], []])
        #expect(try ThreadWishes().ask(for: [NamedRow(.backend(.timerFD))], clock: .suspending).isEmpty)
    }
}
#endif
