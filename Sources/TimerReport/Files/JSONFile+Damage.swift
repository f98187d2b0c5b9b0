internal import Foundation

extension JSONFile {
    /// Where a text stops being JSON, in one line; nil if it is JSON. The decoder does not say.
    static func damage(of data: Data) -> String? {
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            return nil
        } catch {
            let reason = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "\(error)"
            guard let offset = offset(in: reason) else {
                return reason.contains("end of file")
                    ? "is damaged: it ends too early, after \(data.count) bytes" : "is damaged: \(reason)"
            }
            let before = data.prefix(offset)
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let column = before.count - (before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0)
            return "is damaged: line \(line), column \(max(column, 1)) cannot be read"
        }
    }

    /// The place that Foundation names, as in `Invalid value around character 14.`
    private static func offset(in reason: String) -> Int? {
        let words = reason.split { !$0.isLetter && !$0.isNumber }
        let announcing: Set<Substring> = ["character", "at"]
        guard let place = words.lastIndex(where: announcing.contains), place + 1 < words.count else { return nil }
        return Int(words[place + 1])
    }
}
