internal import HostSystem
internal import TimerReport
internal import TimerResults

/// Reads results that were saved as JSON.
enum SavedResults {
    static func load(_ path: String) throws -> Results {
        let content: [UInt8]
        do { content = try InputFile.read(path) } catch { throw Exit.invalid("\(error)") }
        do { return try JSONFile.decode(content) } catch { throw Exit.invalid("\(path) \(error)") }
    }

    /// Reads several files and merges them.
    static func load(_ paths: [String]) throws -> Results {
        let results = try paths.map { try load($0) }
        do { return try Results.merged(results) } catch {
            throw Exit.invalid("\(paths.joined(separator: ", ")): \(error)")
        }
    }
}
