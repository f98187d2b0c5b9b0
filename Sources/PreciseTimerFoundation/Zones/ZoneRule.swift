/// The offsets of a zone by a rule like `CET-1CEST,M3.5.0,M10.5.0/3`: POSIX.1-2024, section 8.3.
///
/// The variable `TZ` may have such a rule, and a zone file ends with one. Hours of a change may reach from -167 to 167:
/// RFC 9636, section 3.3.
package struct ZoneRule: Sendable {
    /// By how much standard time is ahead of UTC, in seconds.
    private let standard: Int
    private var summer: Summer?

    /// The second offset of a zone, and when it begins and ends.
    private struct Summer {
        let offset: Int
        let start: YearlyChange
        let end: YearlyChange
    }

    /// UTC.
    static let utc = ZoneRule(standard: 0)

    private init(standard: Int) { self.standard = standard }

    /// Nil for a text that is no such rule.
    package init?(_ text: String) {
        var parser = Parser(rest: Substring(text))
        guard parser.skipsName(), let west = parser.time(hours: 24) else { return nil }
        standard = -west
        if parser.rest.isEmpty { return }
        guard parser.skipsName() else { return nil }
        let offset = parser.startsWithTime ? parser.time(hours: 24).map { -$0 } : standard + 3_600
        // The rule that glibc takes if there is none, and no file `posixrules`, with which it is wrong from 2038 on:
        // Documentation/findings/glibc-new-york-2038.sh.
        if parser.rest.isEmpty { parser.rest = ",M3.2.0,M11.1.0" }
        guard let offset, let start = parser.change(), let end = parser.change(), parser.rest.isEmpty else {
            return nil
        }
        summer = Summer(offset: offset, start: start, end: end)
    }

    /// By how much the clocks are ahead of UTC, in seconds.
    func offset(at second: Int) -> Int {
        guard let summer else { return standard }
        // The latest change decides. It is one of this year or of the last one; and this number may be one too high or
        // too low on a New Year's Day.
        let year = 1970 + Int((Double(second) / 31_556_952).rounded(.down))
        var (latest, offset) = (Int.min, standard)
        for year in year - 1...year + 1 {
            let (start, end) = (summer.start.time(in: year) - standard, summer.end.time(in: year) - summer.offset)
            // Summer that begins as soon as it has ended lasts all year.
            if end <= second, end > latest { (latest, offset) = (end, standard) }
            if start <= second, start >= latest { (latest, offset) = (start, summer.offset) }
        }
        return offset
    }
}

/// A change of clocks in each year: a day, and a time in seconds from its midnight.
private struct YearlyChange {
    enum Day {
        /// `J60` is 1 March in each year.
        case withoutLeapDay(Int)
        /// `59` is the sixtieth day of the year.
        case fromZero(Int)
        /// `M3.5.0` is the last Sunday of March.
        case weekday(Int, week: Int, month: Int)
    }

    let day: Day
    let time: Int

    /// What the clocks show in a year, as if it were UTC, in seconds since 1970.
    func time(in year: Int) -> Int {
        let newYear = Self.firstDay(of: 1, year)
        let number =
            switch day {
            case .withoutLeapDay(let day):
                newYear + day - (day > 59 && Self.firstDay(of: 3, year) - newYear == 60 ? 0 : 1)
            case .fromZero(let day): newYear + day
            case .weekday(let weekday, let week, let month): Self.day(weekday, week, of: month, year)
            }
        return number * 86_400 + time
    }

    /// The number of a day since 1970: the weekday in a week of a month. The fifth one is the last.
    private static func day(_ weekday: Int, _ week: Int, of month: Int, _ year: Int) -> Int {
        let first = firstDay(of: month, year)
        let next = month == 12 ? firstDay(of: 1, year + 1) : firstDay(of: month + 1, year)
        // 1 January 1970 was a Thursday.
        let ahead = (weekday - first - 4) % 7
        let day = first + (ahead < 0 ? ahead + 7 : ahead) + (week - 1) * 7
        return day < next ? day : day - 7
    }

    /// The number of the first day of a month since 1970, in the Gregorian calendar after year 0.
    private static func firstDay(of month: Int, _ year: Int) -> Int {
        // Years that begin with March end with their leap day.
        let year = month < 3 ? year - 1 : year
        let days = [306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275][month - 1]
        return year * 365 + year / 4 - year / 100 + year / 400 + days - 719_468
    }
}

/// Reads the parts of a rule, one after the other.
private struct Parser {
    var rest: Substring

    private mutating func skips(_ character: Character) -> Bool {
        if rest.first != character { return false }
        rest.removeFirst()
        return true
    }

    private mutating func take(while condition: (Character) -> Bool) -> Substring {
        let taken = rest.prefix { $0.isASCII && condition($0) }
        rest = rest[taken.endIndex...]
        return taken
    }

    /// Skips a name: at least three letters, or also digits and signs between angle brackets.
    mutating func skipsName() -> Bool {
        guard skips("<") else { return take(while: \.isLetter).count >= 3 }
        return take { $0.isLetter || $0.isWholeNumber || $0 == "+" || $0 == "-" }.count >= 3 && skips(">")
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int? {
        Int(take(while: \.isWholeNumber)).flatMap { range.contains($0) ? $0 : nil }
    }

    var startsWithTime: Bool { rest.first.map { $0 == "+" || $0 == "-" || $0.isWholeNumber } ?? false }

    /// A time with a sign in seconds, as `-3:30`.
    mutating func time(hours: Int) -> Int? {
        let sign = skips("-") ? -1 : 1
        if sign == 1 { _ = skips("+") }
        guard var time = number(0...hours).map({ $0 * 3_600 }) else { return nil }
        for unit in [60, 1] where skips(":") {
            guard let part = number(0...59) else { return nil }
            time += part * unit
        }
        return sign * time
    }

    mutating func change() -> YearlyChange? {
        guard skips(","), let day = day() else { return nil }
        guard let time = skips("/") ? time(hours: 167) : 2 * 3_600 else { return nil }
        return YearlyChange(day: day, time: time)
    }

    private mutating func day() -> YearlyChange.Day? {
        if skips("J") { return number(1...365).map { .withoutLeapDay($0) } }
        guard skips("M") else { return number(0...365).map { .fromZero($0) } }
        guard let month = number(1...12), skips("."), let week = number(1...5), skips("."), let day = number(0...6)
        else { return nil }
        return .weekday(day, week: week, month: month)
    }
}
