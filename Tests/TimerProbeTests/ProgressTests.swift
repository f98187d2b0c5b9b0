import Testing
import TimerProbe

@Suite struct ProgressTests {
    private func line(_ stage: Progress.Stage, elapsed: Duration, total: Duration = .seconds(12)) -> String {
        Progress(stage: stage, row: "timerfd", elapsed: elapsed, total: total).line()
    }

    @Test func theBarFillsUp() {
        #expect(line(.warmUp, elapsed: .zero) == "[                        ] warm-up: timerfd, 12 s left")
        #expect(
            line(.lap(2, of: 3), elapsed: .seconds(6))
                == "[============            ] lap 2 of 3: timerfd, 6 s left"
        )
    }

    @Test func theBarStaysFullWhenItTakesLonger() {
        let full = "[========================] lap 3 of 3: timerfd, 0 s left"
        #expect(line(.lap(3, of: 3), elapsed: .seconds(12)) == full)
        #expect(line(.lap(3, of: 3), elapsed: .seconds(1_000_000_000)) == full)
        #expect(line(.lap(3, of: 3), elapsed: .nanoseconds(5), total: .zero) == full)
    }

    @Test func aLongNameIsCutToFitTheLine() {
        let progress = Progress(
            stage: .lap(10, of: 10),
            row: "peer-libevent-precise@handler:200us",
            elapsed: .zero,
            total: .seconds(12)
        )
        #expect(progress.line().count == 79)
        #expect(progress.line().hasSuffix("…, 12 s left"))
    }
}
