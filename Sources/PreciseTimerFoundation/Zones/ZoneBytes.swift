internal import Foundation

/// Tells whether a file is still the one that was read, and reached by the same link.
struct FileStamp: Equatable {
    /// Of the link or file of this name, and of the file that a link leads to; nil if there is none.
    private let numbers: [[Int]?]

    init(_ path: String) {
        var (link, file) = (stat(), stat())
        numbers = unsafe [
            lstat(path, &link) == 0 ? Self.numbers(link) : nil, stat(path, &file) == 0 ? Self.numbers(file) : nil,
        ]
    }

    private static func numbers(_ status: stat) -> [Int] {
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        return [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            modified.tv_sec, modified.tv_nsec, changed.tv_sec, changed.tv_nsec,
        ]
    }
}

/// The bytes of small files.
enum ZoneBytes {
    /// Reads a file; nil if there is none.
    ///
    /// - Throws: `Zone.Problem` if the system refuses it, or if it is no ordinary file. Nothing else is opened: a pipe
    ///   would wait, and a device might do something.
    static func read(_ path: String) throws(Zone.Problem) -> [UInt8]? {
        var status = stat()
        if unsafe stat(path, &status) != 0 {
            let failure = errno
            if failure == ENOENT || failure == ENOTDIR || failure == ENAMETOOLONG { return nil }
            throw Zone.Problem("\(path) cannot be read: \(unsafe String(cString: strerror(failure)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size < 1 << 20 else {
            throw Zone.Problem("\(path) is not a zone file")
        }
        do {
            // `Data(contentsOf:)` leaks a page if the file is empty (swift-foundation 6.3).
            return Array(try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).readToEnd() ?? Data())
        } catch {
            throw Zone.Problem("\(path) cannot be read: \(error.localizedDescription)")
        }
    }
}
