import Testing
import TimerMeasurement

@Suite struct ProgressTests {
    private func line(_ stage: Progress.Stage, elapsed: UInt64, total: UInt64 = 12_000_000_000) -> String {
        Progress(stage: stage, row: "timerfd", elapsed: elapsed, total: total).line
    }

    @Test func theBarFillsUp() {
        #expect(line(.warmUp, elapsed: 0) == "[                        ] warm-up: timerfd, 12 s left")
        #expect(
            line(.round(2, of: 3), elapsed: 6_000_000_000)
                == "[============            ] round 2 of 3: timerfd, 6 s left"
        )
    }

    @Test func theBarStaysFullWhenItTakesLonger() {
        let full = "[========================] round 3 of 3: timerfd, 0 s left"
        #expect(line(.round(3, of: 3), elapsed: 12_000_000_000) == full)
        #expect(line(.round(3, of: 3), elapsed: .max) == full)
        #expect(line(.round(3, of: 3), elapsed: 5, total: 0) == full)
    }

    @Test func aLongNameIsCutForTheLineToFit() {
        let progress = Progress(
            stage: .round(10, of: 10),
            row: "peer-libevent-precise@handler:200us",
            elapsed: 0,
            total: 12_000_000_000
        )
        #expect(progress.line.count == 79)
        #expect(progress.line.hasSuffix("…, 12 s left"))
    }
}
