extension String {
    /// Lines of whole words that are at most so wide. A longer word has a line of its own.
    func wrapped(at width: Int) -> [String] {
        split(separator: " ")
            .reduce(into: [String]()) { lines, word in
                if let last = lines.last, last.count + 1 + word.count <= width {
                    lines[lines.count - 1] = "\(last) \(word)"
                } else {
                    lines.append(String(word))
                }
            }
    }
}
