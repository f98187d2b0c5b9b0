import ExampleSupport
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import Synchronization

/// A job that runs each night at 02:30 in Berlin, through a year on virtual time: clocks go forward and back, the
/// machine stands still for three days, is suspended for a night, and somebody sets its clock. At first it shows the
/// runs of a week, as the help of a program may.
@main
enum NightlyJob {
    static func main() async throws {
        guard let berlin = TimeZone(identifier: "Europe/Berlin") else { fail("this machine has no time zones") }
        let (virtual, backup) = (VirtualTime(clock: .wall), Backup(in: berlin))
        let suspensions = try virtual.service.suspensions
        let nightly = PreciseTimer.Schedule.daily(at: .init(hour: 2, minute: 30), in: berlin)
        let report = PreciseTimer.Schedule.weekly(on: .monday, .friday, at: .init(hour: 9), in: berlin)
        let week = days(of: [("backup", nightly), ("report", report)], after: "2026-03-27T12:00:00+01:00", in: berlin)
        print("a week in March:\n" + week.joined(separator: "\n"))
        check(week.count == 7 && week[2] == "Mon 30 Mar: backup 02:30, report 09:00", "\(week)")

        let timer = try PreciseTimer.schedule(nightly, on: virtual.service, target: backup) { $0.run($1) }

        virtual.advance(to: "2026-03-28T12:00:00+01:00")
        check(backup.last == "2026-03-28 02:30", "the last backup was at \(backup.last)")
        await virtual.advance(by: .seconds(86_400))
        check(backup.last == "2026-03-29 03:00", "the night has no 02:30, and the backup was at \(backup.last)")
        print("the clocks go forward: a backup at", backup.last)

        virtual.advance(to: "2026-06-01T12:00:00+02:00")
        virtual.jump(by: .seconds(3 * 86_400))
        check(backup.missed == 2, "\(backup.missed) nights were missed in a stall of three days")
        print("a stall of three days: one late backup, which knows of \(backup.missed) missed nights")

        virtual.inject(.suspend(.seconds(16 * 3_600)), after: .seconds(3 * 3_600))
        await virtual.advance(by: .seconds(86_400))
        for try await suspension in suspensions {
            print("resumed after \(suspension.duration): the backup of that night was late, and not missed")
            break
        }
        check(backup.last == "2026-06-05 02:30" && backup.missed == 2, "the night of the suspension was lost")

        virtual.inject(.stepClock(by: .seconds(-40 * 86_400)))
        await virtual.advance(by: .zero)
        check(
            timer.nextDeadline.map(backup.text) == "2026-04-27 02:30",
            "the job waits for \(timer.nextDeadline, default: "")"
        )
        print("the clock was set back by forty days: the next backup is at", timer.nextDeadline.map(backup.text) ?? "")

        virtual.advance(to: "2026-10-24T12:00:00+02:00")
        let before = backup.count
        virtual.advance(to: "2026-10-26T01:00:00+01:00")
        check(backup.count == before + 1, "\(backup.count - before) backups in a night that has 02:30 twice")
        virtual.advance(to: "2027-01-01T00:00:00+01:00")
        check(backup.last == "2026-12-31 02:30", "the last backup was at \(backup.last)")
        timer.cancel()
        check(virtual.pendingCount == 0, "the timer is still there")
        print("a year: \(backup.count) backups, \(backup.missed) missed nights")
    }

    /// The runs of a week, one line for each day. The dates come from the schedules alone: nothing is scheduled.
    static func days(
        of jobs: [(name: String, schedule: PreciseTimer.Schedule)],
        after text: String,
        in zone: TimeZone
    ) -> [String] {
        guard let start = try? Date(text, strategy: .iso8601) else { fail("\(text) is no date") }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let runs = jobs.flatMap { job in
            job.schedule.deadlines(after: start).prefix { $0 < start.addingTimeInterval(7 * 86_400) }
                .map { (date: $0, name: job.name) }
        }
        let (day, time) = (DateFormatter(), DateFormatter())
        for (formatter, format) in [(day, "EEE d MMM"), (time, "HH:mm")] {
            (formatter.locale, formatter.timeZone) = (Locale(identifier: "en_GB"), zone)
            formatter.dateFormat = format
        }
        return Dictionary(grouping: runs) { calendar.startOfDay(for: $0.date) }.sorted { $0.key < $1.key }
            .map { date, runs in
                let runs = runs.sorted { $0.date < $1.date }.map { "\($0.name) \(time.string(from: $0.date))" }
                return "\(day.string(from: date)): \(runs.joined(separator: ", "))"
            }
    }
}

/// The job, which writes down when it ran.
final class Backup: Sendable {
    private let state = Mutex<(count: Int, missed: Int, last: TimerInstant?)>((0, 0, nil))
    private let zone: TimeZone

    init(in zone: TimeZone) { self.zone = zone }

    var count: Int { state.withLock { $0.count } }
    var missed: Int { state.withLock { $0.missed } }
    /// The deadline of the last run, as clocks showed it.
    var last: String { state.withLock { $0.last }.map(text) ?? "no time" }

    func run(_ tick: PreciseTimer.Tick) {
        state.withLock { $0 = ($0.count + 1, $0.missed + tick.missed, tick.deadline) }
    }

    /// An instant as the zone's clocks show it.
    func text(_ instant: TimerInstant) -> String {
        let style = Date.ISO8601FormatStyle(timeZone: zone).year().month().day().dateTimeSeparator(.space)
            .time(includingFractionalSeconds: false)
        return String((Date(instant)?.formatted(style) ?? "\(instant)").prefix(16))
    }
}

extension VirtualTime {
    /// Moves time to a date, as `2026-03-28T12:00:00+01:00`.
    func advance(to text: String) {
        guard let date = try? Date(text, strategy: .iso8601) else { fail("\(text) is no date") }
        advance(by: now.duration(to: TimerInstant(date)))
    }
}
