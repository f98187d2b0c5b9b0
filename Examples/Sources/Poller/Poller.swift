import ExampleSupport
import PreciseTimer
import Synchronization

/// A poller: its handler awaits and throws. It never overlaps itself, goes on after an error, and ends at once, even if
/// an answer never comes.
@main
enum Poller {
    static func main() async throws {
        let feed = Feed()
        let polling = try PreciseTimer.schedule(
            .every(.milliseconds(10)),
            label: "feed",
            target: feed,
            onError: { feed, error in feed.note(error) },
            handler: { feed, _ in try await feed.poll() }
        )
        try await wait(for: "a poll that hangs") { feed.isStuck.load(ordering: .relaxed) }
        check(polling.runningSince != nil, "the hanging poll does not run")
        print("poller: \(await feed.answers) answers, \(await feed.failures) failures; now: \(TimerService.default)")

        // Without this, a shutdown would wait for the answer that never comes.
        await polling.cancelAndWait()
        check(await feed.wasCancelled, "the hanging poll was not cancelled")
        let (answers, failures) = await (feed.answers, feed.failures)
        check(answers == 4 && failures == 1, "an error ended the polling, or a poll was lost")
        check(polling.state == .ended(.cancelled), "the timer has not ended")
    }
}

/// A source of news, of which the third poll fails and the sixth hangs.
actor Feed {
    private(set) var answers = 0
    private(set) var failures = 0
    private(set) var wasCancelled = false
    private var polls = 0
    nonisolated let isStuck = Atomic(false)

    struct Unreachable: Error {}

    func poll() async throws {
        polls += 1
        try await Task.sleep(for: .milliseconds(1))
        if polls == 3 { throw Unreachable() }
        if polls == 6 {
            isStuck.store(true, ordering: .relaxed)
            defer { wasCancelled = Task.isCancelled }
            try await Task.sleep(for: .seconds(3_600))
        }
        answers += 1
    }

    func note(_ error: any Error) { failures += 1 }
}
