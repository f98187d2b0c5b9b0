import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Every tick of a timer of 300 ns after late looks, exactly, under each policy.
struct MissedTickTableTests {
    private let virtual = VirtualTime()

    @Test(arguments: LateStory.all, LateStory.Policy.allCases)
    func everyTickFollowsThePolicy(story: LateStory, policy: LateStory.Policy) throws {
        let (virtual, start, log) = (virtual, virtual.now, Log())
        let timer = try PreciseTimer.schedule(
            story.schedule,
            on: virtual.service,
            missedTicks: policy.policy,
            target: log
        ) { log, tick in
            log.note(tick)
            if log.count <= story.slowTicks { virtual.jump(by: .nanoseconds(700)) }
        }
        for move in story.moves {
            switch move {
            case .advance(let end): virtual.advance(by: virtual.now.duration(to: start.advanced(by: .nanoseconds(end))))
            case .jump(let end): virtual.jump(by: virtual.now.duration(to: start.advanced(by: .nanoseconds(end))))
            case .pause: timer.pause()
            case .resume: timer.resume()
            }
        }
        #expect(log.ticks.map { LateStory.Row($0, from: start) } == story.rows[policy])
    }

    @Test(arguments: LateStory.Policy.allCases)
    func aTimerRescheduledInItsHandlerDropsTheOldSchedulesDeadlines(policy: LateStory.Policy) throws {
        let (start, log) = (virtual.now, Log())
        let timer = Box<PreciseTimer>()
        timer.value = try PreciseTimer.schedule(
            .every(.nanoseconds(300)),
            on: virtual.service,
            missedTicks: policy.policy,
            target: log
        ) { log, tick in
            log.note(tick)
            if log.count == 1 { try? timer.value?.reschedule(.every(.nanoseconds(100))) }
        }
        virtual.jump(by: .nanoseconds(951))
        virtual.advance(by: .nanoseconds(200))
        let first = LateStory.Row(0, 300, policy == .catchUp ? 0 : 2)
        let rows = log.ticks.map { LateStory.Row($0, from: start) }
        #expect(rows == [first, LateStory.Row(0, 1_051, 0), LateStory.Row(1, 1_151, 0)])
        timer.value = nil
    }
}
