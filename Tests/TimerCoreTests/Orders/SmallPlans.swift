import PreciseTimer

/// The small worlds that are searched, each in a small bound for every test run and in a large one.
extension Plan {
    private static let requests: Set<Call.Kind> = [.cancel, .pause, .resume, .reschedule, .postpone, .fire]

    static func all(isLong: Bool) -> [Plan] {
        let inline = TimerPlan(first: 1, period: 2)
        let hops = TimerPlan(first: 1, period: 2, hops: true)
        return [
            Plan(
                name: "a timer and a hop",
                timers: [inline, hops],
                calls: isLong ? 2 : 1,
                kinds: requests.union([.cancelAndWait]),
                time: isLong ? 3 : 1
            ),
            Plan(
                name: "a schedule meets all calls",
                timers: [inline, TimerPlan(first: 2, isThere: false)],
                callers: 2,
                calls: isLong ? 2 : 1,
                kinds: requests.union([.schedule, .cancelAndWait]),
                time: isLong ? 4 : 3
            ),
            Plan(
                name: "late ticks",
                timers: [
                    TimerPlan(first: 1, period: 1, policy: .catchUp(limit: 2)),
                    TimerPlan(first: 1, period: 1, policy: .delay, hops: true),
                ],
                calls: 1,
                kinds: requests,
                time: isLong ? 3 : 1
            ),
            Plan(
                name: "late ticks of a hop",
                timers: [
                    TimerPlan(first: 1, period: 1, policy: .catchUp(limit: 2), hops: true),
                    TimerPlan(first: 2, period: 1, count: 2),
                ],
                calls: 1,
                kinds: requests,
                time: isLong ? 3 : 1
            ),
            Plan(
                name: "tolerance",
                timers: [TimerPlan(first: 1, period: 2, tolerance: 2), TimerPlan(first: 2, period: 1, count: 2)],
                calls: isLong ? 2 : 1,
                kinds: requests,
                time: isLong ? 4 : 2
            ),
            Plan(
                name: "an alarm that fires early on purpose",
                timers: [TimerPlan(first: 1, period: 1, isFixedDelay: true), hops],
                calls: 1,
                kinds: requests,
                time: isLong ? 3 : 1,
                lead: 1
            ),
            Plan(
                name: "an alarm that repeats",
                timers: [TimerPlan(first: 1, period: 1), TimerPlan(first: 2, period: 3)],
                calls: isLong ? 2 : 1,
                kinds: requests,
                time: isLong ? 2 : 1,
                earlyFirings: 1,
                alarmRepeats: true
            ),
            Plan(
                name: "handlers that call",
                timers: [TimerPlan(first: 1, period: 1), TimerPlan(first: 1, hops: true)],
                handlersCall: true,
                calls: isLong ? 2 : 1,
                kinds: [.cancel, .reschedule, .fire],
                time: isLong ? 2 : 1
            ),
            Plan(
                name: "released targets",
                timers: [inline, TimerPlan(first: 1, hops: true)],
                calls: isLong ? 2 : 1,
                kinds: [.releaseTarget, .fire, .reschedule],
                time: isLong ? 3 : 1
            ),
            Plan(
                name: "a task that takes ticks",
                timers: [TimerPlan(first: 1, period: 1, policy: .catchUp(limit: 2), isConsumed: true)],
                calls: isLong ? 2 : 1,
                kinds: [.cancel, .reschedule, .fire, .shutDown],
                time: isLong ? 2 : 1
            ),
            Plan(
                name: "an alarm that refuses",
                timers: [inline, TimerPlan(first: 1, hops: true, isThere: false)],
                callers: 2,
                calls: isLong ? 2 : 1,
                kinds: [.schedule, .shutDown, .reschedule],
                time: isLong ? 3 : 1,
                refusals: 1,
                isShared: true
            ),
            Plan(
                name: "a shutdown and a new start",
                timers: [inline, TimerPlan(first: 1, hops: true, isThere: false)],
                callers: 2,
                calls: isLong ? 3 : 2,
                kinds: [.schedule, .shutDown, .cancelAndWait],
                time: isLong ? 2 : 1,
                isShared: true
            ),
        ]
    }
}
