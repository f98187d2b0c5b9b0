import Foundation
import FuzzChecks
import PreciseTimer
import TestSupport
import Testing

/// The inputs that fuzzing began with and the crashes that it found, and some more that are made of them.
struct CorpusTests {
    /// What is fuzzed; the raw value names the file of its inputs.
    enum Subject: String, CaseIterable {
        case schedules, texts, results, values

        var check: ([UInt8]) -> Void {
            switch self {
            case .schedules: SchedulesCheck.run
            case .texts: TextsCheck.run
            case .results: ResultsCheck.run
            case .values: ValuesCheck.run
            }
        }

        func inputs() throws -> [[UInt8]] {
            let file = URL(filePath: #filePath).appending(path: "../../Fuzz/Corpus/\(rawValue).txt").standardized
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            return try lines.filter { !$0.hasPrefix("#") }
                .map { line in
                    let words = line.split(separator: " ")
                    try #require(words.count == 2, "a line has a name and its bytes: \(line)")
                    return [UInt8](try #require(Data(base64Encoded: String(words[1])), "no Base64: \(line)"))
                }
        }
    }

    @Test(arguments: Subject.allCases)
    func noInputOfTheCorpusAndNoMutationTraps(subject: Subject) throws {
        let inputs = try subject.inputs()
        #expect(!inputs.isEmpty)
        for input in inputs { subject.check(input) }
        var random = SeededGenerator(seed: 1)
        for _ in 0..<(subject == .results ? 300 : 3_000) {
            guard var bytes = inputs.randomElement(using: &random), !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = .random(in: 0...255, using: &random)
                case 1: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            subject.check(bytes)
        }
    }
}
