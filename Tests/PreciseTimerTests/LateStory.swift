import PreciseTimer
import Testing

/// A story in which a timer comes late, and its ticks under each policy.
struct LateStory: Sendable, CustomTestStringConvertible {
    enum Policy: CaseIterable, Sendable {
        case skip, catchUp, delay

        var policy: PreciseTimer.MissedTickPolicy {
            switch self {
            case .skip: .skip
            case .catchUp: .catchUp(limit: 3)
            case .delay: .delay
            }
        }
    }

    /// An event of the story; instants are nanoseconds from the beginning.
    enum Move: Sendable {
        case advance(Int64)
        case jump(Int64)
        case pause, resume
    }

    /// A tick: its index, its deadline in nanoseconds from the beginning, and how many it missed.
    struct Row: Hashable, Sendable {
        let index: Int
        let deadline: UInt64
        let missed: Int

        init(_ index: Int, _ deadline: UInt64, _ missed: Int) {
            (self.index, self.deadline, self.missed) = (index, deadline, missed)
        }

        init(_ tick: PreciseTimer.Tick, from start: TimerInstant) {
            self.init(tick.index, tick.deadline.nanoseconds - start.nanoseconds, tick.missed)
        }
    }

    let testDescription: String
    let schedule: PreciseTimer.Schedule
    /// The number of first ticks whose handler takes 700 ns.
    let slowTicks: Int
    let moves: [Move]
    let rows: [Policy: [Row]]

    /// Of each tick the index, the deadline and the missed ones. Without rows of their own, other policies have those
    /// of `skip`.
    init(
        _ name: String,
        schedule: PreciseTimer.Schedule = .every(.nanoseconds(300)),
        slowTicks: Int = 0,
        _ moves: [Move],
        skip: [(Int, UInt64, Int)],
        catchUp: [(Int, UInt64, Int)]? = nil,
        delay: [(Int, UInt64, Int)]? = nil
    ) {
        (testDescription, self.schedule, self.slowTicks, self.moves) = (name, schedule, slowTicks, moves)
        rows = [.skip: skip, .catchUp: catchUp ?? skip, .delay: delay ?? skip].mapValues { $0.map(Row.init) }
    }
}

extension LateStory {
    static let all: [LateStory] = [
        LateStory("on time", [.advance(900)], skip: [(0, 300, 0), (1, 600, 0), (2, 900, 0)]),
        LateStory(
            "late by less than a period",
            [.jump(599), .advance(900)],
            skip: [(0, 300, 0), (1, 600, 0), (2, 900, 0)]
        ),
        LateStory(
            "late by exactly a period",
            [.jump(600), .advance(1_200)],
            skip: [(0, 300, 1), (2, 900, 0), (3, 1_200, 0)],
            catchUp: [(0, 300, 0), (1, 600, 0), (2, 900, 0), (3, 1_200, 0)]
        ),
        LateStory(
            "on time, and then looked at at 951",
            [.advance(300), .jump(951), .advance(1_251)],
            skip: [(0, 300, 0), (1, 600, 1), (3, 1_200, 0)],
            catchUp: [(0, 300, 0), (1, 600, 0), (2, 900, 0), (3, 1_200, 0)],
            delay: [(0, 300, 0), (1, 600, 1), (3, 1_251, 0)]
        ),
        LateStory(
            "late by more than can be caught up",
            [.jump(1_550), .advance(1_850)],
            skip: [(0, 300, 4), (5, 1_800, 0)],
            catchUp: [(0, 300, 0), (1, 600, 0), (2, 900, 2), (5, 1_800, 0)],
            delay: [(0, 300, 4), (5, 1_850, 0)]
        ),
        LateStory(
            "paused over several",
            [.advance(300), .pause, .advance(1_550), .resume, .advance(1_850)],
            skip: [(0, 300, 0), (1, 600, 3), (5, 1_800, 0)],
            catchUp: [(0, 300, 0), (1, 600, 0), (2, 900, 0), (3, 1_200, 1), (5, 1_800, 0)],
            delay: [(0, 300, 0), (1, 600, 3), (5, 1_850, 0)]
        ),
        LateStory(
            "a handler slower than its period",
            slowTicks: 2,
            [.advance(300), .advance(2_000)],
            skip: [(0, 300, 0), (1, 600, 1), (3, 1_200, 1), (5, 1_800, 0)],
            catchUp: [(0, 300, 0), (1, 600, 0), (2, 900, 0), (3, 1_200, 0), (4, 1_500, 0), (5, 1_800, 0)],
            // Late at 1,000 and at 1,700: the grid restarts at both.
            delay: [(0, 300, 0), (1, 600, 1), (3, 1_300, 1), (5, 2_000, 0)]
        ),
        LateStory(
            "a fixed delay",
            schedule: .fixedDelay(.nanoseconds(300)),
            [.jump(951), .advance(1_551)],
            skip: [(0, 300, 0), (1, 1_251, 0), (2, 1_551, 0)]
        ),
        LateStory(
            "a fixed delay after a slow handler",
            schedule: .fixedDelay(.nanoseconds(300), after: .nanoseconds(50)),
            slowTicks: 2,
            [.advance(50), .advance(2_050)],
            skip: [(0, 50, 0), (1, 1_050, 0), (2, 2_050, 0)]
        ),
        // 10^9 steps of 1,001 s / 30,000 take 33,366,666,666,666,666 2/3 ns.
        LateStory(
            "a rate, late by a billion ticks",
            schedule: .rate(30_000, per: .seconds(1_001)),
            [.jump(33_366_666_666_666_667), .advance(33_366_666_700_033_334)],
            skip: [(0, 33_366_667, 999_999_999), (1_000_000_000, 33_366_666_700_033_334, 0)],
            catchUp: [
                (0, 33_366_667, 0), (1, 66_733_334, 0), (2, 100_100_000, 999_999_997),
                (1_000_000_000, 33_366_666_700_033_334, 0),
            ]
        ),
        LateStory(
            "a rate, a nanosecond before its billionth tick",
            schedule: .rate(30_000, per: .seconds(1_001)),
            [.jump(33_366_666_666_666_666), .advance(33_366_666_666_666_667)],
            skip: [(0, 33_366_667, 999_999_998), (999_999_999, 33_366_666_666_666_667, 0)],
            catchUp: [
                (0, 33_366_667, 0), (1, 66_733_334, 0), (2, 100_100_000, 999_999_996),
                (999_999_999, 33_366_666_666_666_667, 0),
            ],
            delay: [(0, 33_366_667, 999_999_998)]
        ),
    ]
}
