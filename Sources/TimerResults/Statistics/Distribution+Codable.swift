/// The form in files: the moments, and the buckets in one line of text, `value:count` with spaces between. A person can
/// still read a file with hundreds of distributions.
extension Distribution: Codable {
    private enum CodingKeys: String, CodingKey {
        case moments
        case buckets
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let moments = try container.decode(Moments.self, forKey: .moments)
        let texts = try container.decode(String.self, forKey: .buckets).split(separator: " ")
        let buckets = texts.compactMap(Bucket.init)
        guard buckets.count == texts.count, let distribution = Distribution(moments, buckets) else {
            throw DecodingError.dataCorruptedError(
                forKey: .buckets,
                in: container,
                debugDescription: "the buckets do not add up to \(moments.count) values"
            )
        }
        self = distribution
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(moments, forKey: .moments)
        try container.encode(buckets.map(\.text).joined(separator: " "), forKey: .buckets)
    }
}

extension Distribution.Bucket {
    fileprivate init?(_ text: Substring) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = UInt64(parts[0]), let count = UInt64(parts[1]) else { return nil }
        self.init(value: value, count: count)
    }

    fileprivate var text: String { "\(value):\(count)" }
}
