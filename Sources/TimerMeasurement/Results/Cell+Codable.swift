/// As it is saved. What the counts can be derived from is left out, and a file whose counts do not fit is refused.
extension Cell: Codable {
    private enum CodingKeys: String, CodingKey {
        case `case`
        case missed
        case early
        case lateness = "lateness_ns"
        case omitted = "omitted_ns"
        case wake = "wake_lateness_ns"
        case hop = "hop_lateness_ns"
        case intervalError = "interval_error_ns"
        case drifts
        case stretches
        case cost
        case elapsed = "elapsed_ns"
        case fault
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        `case` = try container.decode(Case.self, forKey: .case)
        missed = try container.decode(UInt64.self, forKey: .missed)
        early = try container.decode(Int.self, forKey: .early)
        lateness = try container.decode(Distribution.self, forKey: .lateness)
        omitted = try container.decode(Distribution.self, forKey: .omitted)
        wake = try container.decode(Distribution.self, forKey: .wake)
        hop = try container.decode(Distribution.self, forKey: .hop)
        intervalError = try container.decode(Distribution.self, forKey: .intervalError)
        drifts = try container.decode([Drift].self, forKey: .drifts)
        let stretches = try container.decode(String.self, forKey: .stretches).split(separator: " ")
        self.stretches = stretches.compactMap(Stretch.init)
        cost = try container.decode(Cost.self, forKey: .cost)
        elapsed = try container.decode(UInt64.self, forKey: .elapsed)
        fault = try container.decodeIfPresent(String.self, forKey: .fault)
        ticks = lateness.moments.count
        let counts = [missed, elapsed, cost.cpu.magnitude, cost.wakeUps.magnitude, cost.contextSwitches.magnitude]
        // Below 2^52 each, so that the sums of a thousand rounds are no overflow.
        guard self.stretches.count == stretches.count, (0...ticks).contains(early), counts.allSatisfy({ $0 < 1 << 52 }),
            wake.moments.count == ticks, hop.moments.count == ticks, UInt64(omitted.moments.count) == missed,
            drifts.allSatisfy(\.isSensible)
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .lateness,
                in: container,
                debugDescription: "the counts of \(`case`) do not fit each other"
            )
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(`case`, forKey: .case)
        try container.encode(missed, forKey: .missed)
        try container.encode(early, forKey: .early)
        try container.encode(lateness, forKey: .lateness)
        try container.encode(omitted, forKey: .omitted)
        try container.encode(wake, forKey: .wake)
        try container.encode(hop, forKey: .hop)
        try container.encode(intervalError, forKey: .intervalError)
        try container.encode(drifts, forKey: .drifts)
        try container.encode(stretches.map(\.text).joined(separator: " "), forKey: .stretches)
        try container.encode(cost, forKey: .cost)
        try container.encode(elapsed, forKey: .elapsed)
        try container.encodeIfPresent(fault, forKey: .fault)
    }
}

extension Drift {
    /// Whether it can be that of a measurement, and drawn: no clock runs so wrong.
    fileprivate var isSensible: Bool {
        ppm.magnitude < 1e15 && (0..<1e15).contains(noise) && endOffset.magnitude < 1e18
    }
}

extension Stretch {
    fileprivate init?(_ text: Substring) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let time = UInt64(parts[0]), let median = Int64(parts[1]),
            let greatest = Int64(parts[2]), time < 1 << 52, median.magnitude < 1 << 62, greatest.magnitude < 1 << 62
        else { return nil }
        self.init(time: time, median: median, greatest: greatest)
    }

    fileprivate var text: String { "\(time):\(median):\(greatest)" }
}
