internal import PreciseTimer
package import TimerResults

/// Every tick as a line of comma-separated values.
package enum SampleLines {
    /// The line with the names of the columns.
    package static let header = "lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed\n"

    /// One line for each tick of a turn, timer by timer. Every line has its line end.
    ///
    /// - Parameters:
    ///   - turn: the ticks.
    ///   - key: the row.
    ///   - lap: the number of the lap, from 1. The timers' numbers start at 1, too.
    /// - Returns: the lines.
    /// - Complexity: linear in the ticks.
    package static func lines(_ turn: Turn, of key: RowKey, lap: Int) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(turn.recordings.reduce(0) { $0 + $1.ticks } * 96)
        for (timer, recording) in turn.recordings.enumerated() {
            // Only numbers differ from line to line.
            let start = Array("\(lap),\(key.row),\(key.load),\(timer + 1)".utf8)
            for sample in recording.samples {
                bytes += start
                append(Int64(bitPattern: sample.index), to: &bytes)
                append(Int64(bitPattern: recording.deadlines[sample.index].nanoseconds), to: &bytes)
                append(sample.wakeLateness, to: &bytes)
                append(sample.lateness, to: &bytes)
                append(Int64(bitPattern: sample.missed), to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a comma and a number's digits, without the string that `description` would make: there are millions of
    /// numbers.
    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: ","))
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
