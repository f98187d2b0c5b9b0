/// Instants of the wall clock from seconds, as dates count them.
extension TimerInstant {
    /// The instant that is so many seconds after the beginning of 2001 (UTC), rounded up to the nanosecond. One before
    /// 1970 becomes the clock's origin; one after 21 July 2554, 23:34 UTC, and a number that is not one, become never.
    package init(secondsSince2001 interval: Double) {
        // Whole seconds and their fraction apart: a `Double` of the nanoseconds since 1970 would be less precise, and
        // one of the seconds since 1970 would round the last moments of a second up to the next second.
        let second = interval.rounded(.down)
        // From 1970 to 2001.
        let seconds = second + 978_307_200
        // A number that is not one is in no range.
        guard seconds < Double(UInt64.max / 1_000_000_000) else {
            self = .never(on: .wall)
            return
        }
        guard seconds >= 0 else {
            self = .origin(on: .wall)
            return
        }
        let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(((interval - second) * 1e9).rounded(.up))
        self.init(nanoseconds: nanoseconds, clock: .wall)
    }
}
