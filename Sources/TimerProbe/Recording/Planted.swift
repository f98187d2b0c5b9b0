package import TimerResults

/// A change of a row that is known, so that a verdict on it can be checked: `timerfd#2=1.1` makes it later by a tenth,
/// and `libevent=+800us/3%` makes 3 % of its ticks later by 800 µs.
package struct Planted: Hashable, Sendable {
    package let row: String
    package private(set) var factor = 1.0
    package private(set) var delay: UInt64 = 0
    package private(set) var share = 0.0

    package static func parse(_ text: String) throws(Problem) -> Planted {
        let parts = text.split(separator: "=").map(String.init)
        guard parts.count == 2 else {
            throw Problem("write a row and a change, as in timerfd#2=1.1 or timerfd=+800us/3%")
        }
        var planted = Planted(row: parts[0])
        let tail = parts[1].dropFirst().split(separator: "/").map(String.init)
        if parts[1].hasPrefix("+"), tail.count == 2, tail[1].hasSuffix("%"), let percent = Double(tail[1].dropLast()) {
            planted.delay = try DurationText.parse(tail[0]).wholeNanoseconds
            planted.share = percent / 100
        } else if let factor = Double(parts[1]), (0.001...1000).contains(factor) {
            planted.factor = factor
        } else {
            throw Problem("write a factor, as in timerfd#2=1.1, or a delay and a share, as in timerfd=+800us/3%")
        }
        return planted
    }
}
