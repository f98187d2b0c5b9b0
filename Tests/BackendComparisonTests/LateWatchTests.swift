#if Instrument && DEBUG
import Dispatch
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// What held up a late tick.
@Suite struct LateWatchTests {
    @Test func theCauseExplainsHalfOfTheLateness() {
        // Of a thread whose tick was late by 1,000 ns: running, waiting, spinning, whether time was stolen, and the
        // exit from an idle state.
        let cases: [(UInt64, UInt64, UInt64, Bool, UInt64?, LateTicks.Cause)] = [
            (0, 500, 0, false, 0, .waited), (0, 499, 0, false, 0, .stalled), (500, 0, 0, false, 0, .worked),
            (499, 0, 0, false, 0, .stalled), (0, 0, 0, false, 500, .idle), (0, 0, 0, false, 499, .stalled),
            (0, 0, 0, true, 0, .stolen),
            // Spinning is no work.
            (900, 0, 401, false, 0, .stalled), (900, 0, 400, false, 0, .worked), (100, 0, 400, false, 0, .stalled),
            // What the kernel measured counts before what may have been.
            (900, 900, 0, true, 900, .waited), (900, 0, 0, true, 900, .worked), (0, 0, 0, true, 900, .stolen),
            // An account that is not shown is no cause.
            (0, 0, 0, false, nil, .stalled),
        ]
        let found = cases.map { running, waiting, spin, isStolen, idleExit, _ in
            let end = ThreadAccount(thread: 1, running: 70 + running, waiting: 30 + waiting)
            return cause(to: end, spin: spin, isStolen: isStolen, longestIdleExit: idleExit)
        }
        #expect(found == cases.map(\.5))
    }

    /// Another thread's account, or that of a later thread with the number of an ended one, says nothing.
    @Test func theFirstTickOfAThreadIsNotExplained() {
        let others: [ThreadAccount?] = [
            ThreadAccount(thread: 2, running: 70, waiting: 930), ThreadAccount(thread: 1, running: 3, waiting: 30),
        ]
        #expect(others.allSatisfy { cause(to: $0, isStolen: true, longestIdleExit: 900) == .unseen })
        let first = LateTicks.Cause(of: 1000, from: nil, to: start, isStolen: true, longestIdleExit: 900)
        #expect(first == .unseen)
        // A sandbox may hide the account from every tick, also from those that are not the first.
        #expect(cause(to: nil, isStolen: true, longestIdleExit: 900) == .unshown)
        let hidden = LateTicks.Cause(of: 9, from: nil, to: nil, isStolen: false, longestIdleExit: 9)
        #expect(hidden == .unshown)
    }

    /// Dispatch's workers take turns.
    @Test func aThreadThatReturnsIsNotOnItsFirstTick() {
        let watch = LateWatch(threshold: 1000)
        watch.note(lateness: 0, at: 1_000_000)
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global()
            .async {
                watch.note(lateness: 0, at: 2_000_000)
                done.signal()
            }
        done.wait()
        watch.note(lateness: 2000, at: 3_000_000)
        #expect(watch.late.count == 1)
        #expect(watch.late[.unseen] == 0)
    }

    /// The words of a guess say so.
    @Test func causesThatNothingShowsAreWordedAsGuesses() {
        let guesses: [LateTicks.Cause] = [.stolen, .idle]
        #expect(LateTicks.Cause.allCases.filter { $0.words.hasPrefix("maybe ") } == guesses)
    }

    @Test func theWatchKnowsItsOwnCost() throws {
        let watch = LateWatch(threshold: 1000)
        let start = try #require(ResourceUsage.ofAllThreads)
        for tick in 0..<200 { watch.note(lateness: 0, at: UInt64(1 + tick)) }
        let all = try #require(ResourceUsage.ofAllThreads) - start
        let cost = try #require(watch.usage)
        #expect(cost.cpuNanoseconds > 0)
        #expect(cost.cpuNanoseconds <= all.cpuNanoseconds)
    }

    private let start = ThreadAccount(thread: 1, running: 70, waiting: 30)

    /// The kernel counts the threads that a quota stops as threads that wait. It stops new threads, too.
    @Test func aQuotaThatStoppedTheProcessForHalfOfTheLatenessIsTheCause() {
        let waited = ThreadAccount(thread: 1, running: 70, waiting: 930)
        let cases: [(UInt64?, ThreadAccount?, LateTicks.Cause)] = [
            (500, waited, .throttled), (500, nil, .throttled), (499, waited, .waited), (0, waited, .waited),
            (nil, waited, .waited), (499, nil, .unshown),
        ]
        #expect(cases.map { cause(to: $0.1, throttled: $0.0) } == cases.map(\.2))
    }

    @Test func theGroupThatWasStoppedLongestCounts() {
        func account(_ nanoseconds: UInt64) -> Throttling { Throttling(periods: 9, stops: 9, nanoseconds: nanoseconds) }
        let cases: [([Throttling?], [Throttling?], UInt64?)] = [
            ([account(5), account(100)], [account(25), account(110)], 20),
            ([nil, account(1)], [account(9), account(4)], 3),
            ([account(1)], [nil], nil), ([], [account(7)], nil), ([account(9)], [account(7)], nil), ([], [], nil),
        ]
        #expect(cases.map { LateWatch.longestStop(from: $0.0, to: $0.1) } == cases.map(\.2))
    }

    private func cause(
        to end: ThreadAccount?,
        spin: UInt64 = 0,
        throttled: UInt64? = nil,
        isStolen: Bool = false,
        longestIdleExit: UInt64? = nil
    ) -> LateTicks.Cause {
        .init(
            of: 1000,
            from: start,
            to: end,
            spin: spin,
            throttled: throttled,
            isStolen: isStolen,
            longestIdleExit: longestIdleExit
        )
    }

    @Test func deadlinesThatOneWaitHeldUpHaveOneCause() throws {
        let watch = LateWatch(threshold: 1_000_000)
        watch.note(lateness: 0, at: TimerClock.suspending.nanoseconds)
        // A stall of the whole machine is neither work nor waiting.
        let start = try #require(ThreadAccount.current)
        var last = start
        while last.running + last.waiting < start.running + start.waiting + 20_000_000 {
            last = try #require(ThreadAccount.current)
        }
        let now = TimerClock.suspending.nanoseconds
        // Three deadlines passed while the thread worked. It serves them one after the other.
        for tick in 0..<3 { watch.note(lateness: 15_000_000 - Int64(tick) * 1_000_000, at: now + UInt64(tick)) }
        #expect(watch.late.count == 3)
        // On a busy machine, the thread waits for its processor in the middle of the work.
        #expect(watch.late[.worked] + watch.late[.waited] == 3, "\(watch.late.words)")
    }
}
#endif
