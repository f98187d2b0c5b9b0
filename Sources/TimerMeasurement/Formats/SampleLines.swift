internal import TimerCore

/// Every tick as a line of comma-separated values.
package enum SampleLines {
    /// The line of names.
    package static let header = "round,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed\n"

    /// A line for each tick of a turn, timer by timer, each with its end.
    ///
    /// - Parameters:
    ///   - turn: the ticks.
    ///   - case: what was measured.
    ///   - round: the round's number, from 1; so are the timers' numbers.
    /// - Returns: the lines. Linear in the ticks.
    package static func lines(_ turn: Turn, of case: Case, round: Int) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(turn.recordings.reduce(0) { $0 + $1.ticks } * 96)
        for (timer, recording) in turn.recordings.enumerated() {
            // Only numbers differ from line to line.
            let start = Array("\(round),\(`case`.row.quotedForCSV),\(`case`.load.quotedForCSV),\(timer + 1),".utf8)
            for sample in recording.samples {
                bytes += start
                append(Int64(bitPattern: sample.index), to: &bytes)
                bytes.append(comma)
                append(Int64(bitPattern: recording.deadlines[sample.index].nanoseconds), to: &bytes)
                bytes.append(comma)
                append(sample.wakeLateness, to: &bytes)
                bytes.append(comma)
                append(sample.lateness, to: &bytes)
                bytes.append(comma)
                append(Int64(bitPattern: sample.missed), to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let comma = UInt8(ascii: ",")

    /// A number's digits, without the string that `description` would make: there are millions of them.
    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let first = bytes.count
        var rest = number.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[first...].reverse()
    }
}
