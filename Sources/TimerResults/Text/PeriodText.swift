/// Periods in text: a length of time, or a rate in Hertz, as `60hz`.
package enum PeriodText {
    /// Reads a period. The period of a rate is rounded to whole nanoseconds: 60hz is 16,666,667 ns.
    package static func parse(_ text: String) throws(Problem) -> Duration {
        if text.lowercased().hasSuffix("hz") {
            let digits = text.dropLast(2)
            guard digits.allSatisfy({ $0 == "." || ($0.isASCII && $0.isNumber) }), digits.first?.isNumber == true,
                let rate = Double(digits), rate.isFinite, rate >= 0.001, rate <= 1_000_000_000
            else {
                throw Problem("write a rate of 0.001hz to 1000000000hz, as in 60hz")
            }
            return .nanoseconds(Int64((1_000_000_000 / rate).rounded()))
        }
        do throws(Problem) { return try DurationText.parse(text) } catch {
            throw Problem("\(error); or a rate, as in 60hz")
        }
    }
}
