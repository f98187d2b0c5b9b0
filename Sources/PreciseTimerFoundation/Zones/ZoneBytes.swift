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
    /// Reads a file, up to a limit; nil if there is none. It waits for nothing, as a pipe would.
    ///
    /// - Throws: `Zone.Problem` if the system refuses it, or if it is no ordinary file.
    static func read(_ path: String, limit: Int = 1 << 20) throws(Zone.Problem) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        let failure = errno
        if file < 0, failure == ENOENT || failure == ENOTDIR || failure == ENAMETOOLONG { return nil }
        guard file >= 0 else { throw refusal(of: path, failure) }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Zone.Problem("\(path) is no file")
        }
        var bytes: [UInt8] = []
        while bytes.count < limit {
            var part = [UInt8](repeating: 0, count: min(16_384, limit - bytes.count))
            let count = unsafe Foundation.read(file, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw refusal(of: path, errno) }
            if count == 0 { break }
            bytes += part.prefix(count)
        }
        return bytes
    }
    private static func refusal(of path: String, _ failure: CInt) -> Zone.Problem {
        Zone.Problem("\(path) cannot be read: \(unsafe String(cString: strerror(failure)))")
    }
}
