import Glibc
import PreciseTimer

/// Two timers that are set again and again: a watchdog, and a debounce.
@main
enum Timeouts {
    static func main() throws {
        try watchALoop()
        try saveAfterChanges()
    }

    /// The watchdog barks if the loop is stuck, and goes on watching.
    private static func watchALoop() throws {
        let (barks, patience) = (Barks(), Duration.milliseconds(50))
        let watchdog = try PreciseTimer.schedule(.onDemand, target: barks) { barks, tick in barks.note(tick) }
        for _ in 1...3 {
            var fed = TimerService.default.now
            for _ in 0..<1_000 {
                fed = TimerService.default.now
                try watchdog.reschedule(.once(after: patience))
            }
            // The loop is stuck until the watchdog has barked.
            wait { barks.last.map { $0.deadline >= fed.advanced(by: patience) } ?? false }
        }
        // The loop is over, so the watchdog can rest.
        try watchdog.reschedule(.onDemand)
        print("watchdog: fed 3,000 times, barked \(barks.count) times")
        if barks.count > 3_000 || barks.hasBarkedEarly { fail("the watchdog barked without a reason") }
        if watchdog.state != .scheduled || watchdog.nextDeadline != nil { fail("the watchdog does not rest") }
    }

    /// Saves a document a moment after its last change, instead of after each change.
    private static func saveAfterChanges() throws {
        let document = Document()
        let saving = try PreciseTimer.schedule(.onDemand, target: document) { document, _ in document.save() }
        for _ in 0..<200 {
            document.change()
            try saving.reschedule(.once(after: .milliseconds(50)))
            usleep(1_000)
        }
        wait { document.isSaved }
        print("debounce: changed \(document.changes) times, saved \(document.saves) times")
        if document.saves > document.changes { fail("the document was saved more often than it was changed") }
        if saving.state != .scheduled { fail("the timer has ended") }
    }

    private static func wait(_ condition: () -> Bool) {
        for _ in 0..<10_000 where !condition() { usleep(1_000) }
        if !condition() { fail("nothing happened for ten seconds") }
    }

    private static func fail(_ words: String) -> Never {
        print("failed:", words)
        exit(1)
    }
}
