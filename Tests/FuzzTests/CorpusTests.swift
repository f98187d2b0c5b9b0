#if Instrument && DEBUG
import Foundation
import FuzzChecks
import PreciseTimer
import TestSupport
import Testing

/// The inputs that fuzzing began with and the crashes that it found, and some more that are made of them.
struct CorpusTests {
    private static func inputs(of check: FuzzCheck) throws -> [[UInt8]] {
        let file = URL(filePath: #filePath).appending(path: "../../Fuzz/corpus.txt").standardized
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return try lines.filter { $0.hasPrefix("\(check.rawValue) ") }
            .map { line in
                let words = line.split(separator: " ")
                try #require(words.count == 3, "a line has a check, a name and bytes: \(line)")
                return [UInt8](try #require(Data(base64Encoded: String(words[2])), "no Base64: \(line)"))
            }
    }

    @Test(arguments: FuzzCheck.allCases)
    func noInputOfTheCorpusAndNoMutationTraps(check: FuzzCheck) throws {
        let inputs = try Self.inputs(of: check)
        #expect(!inputs.isEmpty)
        for input in inputs { check.run(input) }
        var random = SeededGenerator(seed: 1)
        for _ in 0..<(check == .results ? 300 : 3_000) {
            guard var bytes = inputs.randomElement(using: &random), !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = .random(in: 0...255, using: &random)
                case 1: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            check.run(bytes)
        }
    }
}
#endif
