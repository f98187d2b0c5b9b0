import Foundation
import Testing

/// The exact text of each format, in the files of `Golden/`.
///
/// To write the files again, run the tests with PRECISE_TIMER_WRITE_GOLDEN=1 in the environment. The tests fail then,
/// because they test nothing. Read the difference before you keep it.
enum Golden {
    private static let isWritten = ProcessInfo.processInfo.environment["PRECISE_TIMER_WRITE_GOLDEN"] == "1"

    static func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: file(name)), as: UTF8.self)
    }

    private static func file(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name)")
    }

    /// Expects the text of a file, or writes the file and fails.
    static func expect(_ text: String, in name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        if isWritten {
            try Data(text.utf8).write(to: file(name))
            Issue.record("Golden/\(name) was written, and nothing was tested", sourceLocation: sourceLocation)
        } else {
            let expected = try read(name)
            #expect(text == expected, "differs from Golden/\(name)", sourceLocation: sourceLocation)
        }
    }
}
