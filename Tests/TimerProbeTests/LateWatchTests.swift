import HostSystem
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// What held up a late tick.
@Suite struct LateWatchTests {
    private func cause(
        running: UInt64 = 0,
        waiting: UInt64 = 0,
        spin: UInt64 = 0,
        isStolen: Bool = false,
        longestIdleExit: UInt64 = 0,
        thread: UInt = 1
    ) -> LateTicks.Cause {
        LateTicks.Cause(
            of: 1000,
            from: ThreadAccount(thread: 1, running: 70, waiting: 30),
            to: ThreadAccount(thread: thread, running: 70 + running, waiting: 30 + waiting),
            spin: spin,
            isStolen: isStolen,
            longestIdleExit: longestIdleExit
        )
    }

    @Test func theCauseExplainsHalfOfTheLateness() {
        #expect(cause(waiting: 500) == .waited)
        #expect(cause(waiting: 499) == .stalled)
        #expect(cause(running: 500) == .worked)
        #expect(cause(running: 499) == .stalled)
        #expect(cause(longestIdleExit: 500) == .idle)
        #expect(cause(longestIdleExit: 499) == .stalled)
        #expect(cause(isStolen: true) == .stolen)
    }

    @Test func spinningIsNoWork() {
        #expect(cause(running: 900, spin: 401) == .stalled)
        #expect(cause(running: 900, spin: 400) == .worked)
        #expect(cause(running: 100, spin: 400) == .stalled)
    }

    @Test func whatTheKernelMeasuredCountsBeforeWhatMayHaveBeen() {
        #expect(cause(running: 900, waiting: 900, isStolen: true, longestIdleExit: 900) == .waited)
        #expect(cause(running: 900, isStolen: true, longestIdleExit: 900) == .worked)
        #expect(cause(isStolen: true, longestIdleExit: 900) == .idle)
    }

    @Test func theFirstTickOfAThreadIsNotExplained() {
        #expect(cause(waiting: 900, thread: 2) == .unseen)
        let account = ThreadAccount(thread: 1, running: 70, waiting: 30)
        #expect(LateTicks.Cause(of: 1000, from: nil, to: account, isStolen: true, longestIdleExit: 900) == .unseen)
        #expect(LateTicks.Cause(of: 1000, from: account, to: nil, isStolen: true, longestIdleExit: 900) == .unseen)
        // A later thread with the number of an ended one.
        let younger = ThreadAccount(thread: 1, running: 3, waiting: 30)
        #expect(LateTicks.Cause(of: 1000, from: account, to: younger, isStolen: true, longestIdleExit: 0) == .unseen)
    }

    @Test(.works("a turn measures real ticks")) func handlersThatWorkTooLongHoldUpTheNextTick() throws {
        for asked in [Row(.backend(.timerFD)), Row(.bare(.nanosleep))] {
            let row =
                try
                Short.measure([asked]) { request in
                    request.deadlines = 200
                    request.loads = [.handler(.milliseconds(5))]
                    request.why = .microseconds(500)
                }[0]
            let late = try #require(row.late)
            // On a busy machine, the thread waits for its processor in the middle of the work.
            #expect(late[.worked] + late[.waited] > 0, "\(late.words)")
            #expect(late.count <= Int(row.ticks.count))
        }
    }

    @Test func deadlinesThatOneWaitHeldUpHaveOneCause() throws {
        let watch = LateWatch(threshold: 1_000_000)
        watch.note(lateness: 0, at: SystemClock.monotonic.nanoseconds)
        // A stall of the whole machine is neither work nor waiting.
        let start = try #require(ThreadAccount.current)
        var last = start
        while last.running + last.waiting < start.running + start.waiting + 20_000_000 {
            last = try #require(ThreadAccount.current)
        }
        let now = SystemClock.monotonic.nanoseconds
        // Three deadlines passed while the thread worked. It serves them one after the other.
        for tick in 0..<3 { watch.note(lateness: 15_000_000 - Int64(tick) * 1_000_000, at: now + UInt64(tick)) }
        #expect(watch.late.count == 3)
        // On a busy machine, the thread waits for its processor in the middle of the work.
        #expect(watch.late[.worked] + watch.late[.waited] == 3, "\(watch.late.words)")
    }

    @Test(.works("a turn measures real ticks")) func everyTickAboveTheThresholdIsCounted() throws {
        let row = try Short.measure([Row(.bare(.timerFD))]) { $0.why = .zero }[0]
        #expect(row.late?.count == Int(row.ticks.count))
        let none = try Short.measure([Row(.bare(.timerFD))]) { $0.why = .seconds(3600) }[0]
        #expect(none.late?.count == 0)
        #expect(try Short.measure([Row(.bare(.timerFD))])[0].late == nil)
    }
}
