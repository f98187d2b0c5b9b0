import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import Testing

// "Office hours, and holidays", of the guide about calendars, and the recipe "A delay that a key decides".

extension PreciseTimer.Schedule {
    /// The deadlines from 9 to 17 o'clock, but not at weekends and on holidays.
    func working(in calendar: Calendar, except holidays: Set<Date>) -> Self {
        .computed("in office hours", on: .wall) { instant in
            guard let now = Date(instant) else { return nil }
            let deadline = deadlines(after: now, count: 10_000)
                .first { date in
                    (9..<17).contains(calendar.component(.hour, from: date)) && !calendar.isDateInWeekend(date)
                        && !holidays.contains(calendar.startOfDay(for: date))
                }
            return deadline.map { TimerInstant($0) }
        }
    }

    /// The same deadlines, each later by the same length.
    func later(by delay: Duration) -> Self {
        .computed("later", on: .wall) { instant in
            let date = Date(instant.advanced(by: .zero - delay))
            let next = date.flatMap { deadlines(after: $0, count: 1).first { _ in true } }
            return next.map { TimerInstant($0).advanced(by: delay) }
        }
    }
}

/// A length from zero up to some seconds, the same in each process. FNV-1a.
func delay(of key: String, within seconds: UInt64) -> Duration {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return .milliseconds(hash % (seconds * 1_000))
}

struct OfficeHoursTests {
    private let calendar: Calendar

    init() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
        self.calendar = calendar
    }

    private func date(_ month: Int, _ day: Int, _ hour: Int = 0) throws -> Date {
        try #require(calendar.date(from: DateComponents(year: 2026, month: month, day: day, hour: hour)))
    }

    /// The clocks go forward on 29 March, and 6 April is a Monday.
    @Test func aWeekWithAChangeOfTheClocksAndAHoliday() throws {
        let virtual = VirtualTime(clock: .wall, at: try date(3, 27, 12))
        let log = TickLog(virtual)
        let quarters = PreciseTimer.Schedule.every(.seconds(900), alignedTo: .origin(on: .wall))
        let schedule = quarters.working(in: calendar, except: [try date(4, 3), try date(4, 6)])
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: virtual.now.duration(to: TimerInstant(try date(4, 8))))
        let days = Dictionary(grouping: log.ticks.compactMap { Date($0.deadline) }, by: calendar.startOfDay)
        // On the first day the timer begins at noon.
        let expected = try [(3, 27, 19), (3, 30, 32), (3, 31, 32), (4, 1, 32), (4, 2, 32), (4, 7, 32)]
            .map { (try date($0.0, $0.1), $0.2) }
        #expect(days.mapValues(\.count) == Dictionary(uniqueKeysWithValues: expected))
        #expect(log.missed.allSatisfy { $0 == 0 })
    }

    @Test func aWeekendIsOneLateTickOfItsWorkingHours() throws {
        let virtual = VirtualTime(clock: .wall, at: try date(3, 27, 16))
        let log = TickLog(virtual)
        let schedule = PreciseTimer.Schedule.hourly().working(in: calendar, except: [])
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: virtual.now.duration(to: TimerInstant(try date(3, 30, 11))))
        #expect(log.ticks.map { Date($0.deadline) } == [try date(3, 30, 9)] && log.missed == [2])
    }

    @Test func aDelayOfAKeyIsTheSameEachTimeAndKeysAreSpread() {
        #expect(delay(of: "host-17", within: 30) == delay(of: "host-17", within: 30))
        var bins = [Int](repeating: 0, count: 10)
        for number in 0..<10_000 { bins[Int(delay(of: "host-\(number)", within: 30) / .seconds(3))] += 1 }
        #expect(bins.allSatisfy { (800...1_200).contains($0) }, "\(bins)")
    }

    @Test func aDelayedCalendarKeepsItsPlaceAfterARestart() throws {
        let nightly = PreciseTimer.Schedule.daily(at: .init(hour: 2, minute: 30), in: calendar.timeZone)
        let delay = Duration.milliseconds(333_333)
        let starts = [try date(3, 27, 12), try date(3, 28, 2).addingTimeInterval(1_900)]
        let nights = nightly.deadlines(after: starts[0], count: 2)
            .map { Date(TimerInstant($0).advanced(by: delay)) }
        let found = starts.map { Array(nightly.later(by: delay).deadlines(after: $0, count: 2)) }
        #expect(found == [nights, nights].map { $0.compactMap(\.self) })
    }
}
