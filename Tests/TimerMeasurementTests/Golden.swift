import Foundation
import Testing

/// What results look like, to the letter: the files in `Golden/`.
///
/// To write them anew, run the tests with PRECISE_TIMER_WRITE_GOLDEN=1 in the environment. They fail then, so that nobody
/// takes that for a test; read the difference before you keep it.
enum Golden {
    private static let isWritten = ProcessInfo.processInfo.environment["PRECISE_TIMER_WRITE_GOLDEN"] == "1"

    /// Expects a text to be that of a file, or writes the file and fails.
    static func expect(_ text: String, in name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name)")
        if isWritten {
            try Data(text.utf8).write(to: file)
            Issue.record("Golden/\(name) was written, and nothing was tested", sourceLocation: sourceLocation)
        } else {
            let expected = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            #expect(text == expected, "differs from Golden/\(name)", sourceLocation: sourceLocation)
        }
    }
}
