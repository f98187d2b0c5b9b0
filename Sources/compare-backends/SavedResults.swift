internal import ArgumentParser
internal import TimerAlarms
internal import TimerMeasurement

/// Results that were saved as JSON.
enum SavedResults {
    /// Reads a file.
    static func load(_ path: String) throws -> Results {
        let content: [UInt8]
        do { content = try InputFile.read(path) } catch { throw ValidationError("\(error)") }
        do { return try ResultsFile.decode(content) } catch { throw ValidationError("\(path) \(error)") }
    }

    /// Reads several as one.
    static func load(_ paths: [String]) throws -> Results {
        let results = try paths.map { try load($0) }
        do { return try Merging.merge(results) } catch {
            throw ValidationError("\(paths.joined(separator: ", ")): \(error)")
        }
    }
}
