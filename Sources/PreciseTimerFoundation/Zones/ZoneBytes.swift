internal import Foundation

/// Tells whether a file is still the one that was read.
struct FileStamp: Equatable {
    private let numbers: [Int]

    /// Nil if there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        numbers = [
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
        if file < 0, [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) { return nil }
        guard file >= 0 else {
            throw Zone.Problem("\(path) cannot be read: \(unsafe String(cString: strerror(errno)))")
        }
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
            guard count >= 0 else {
                throw Zone.Problem("\(path) cannot be read: \(unsafe String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            bytes += part.prefix(count)
        }
        return bytes
    }
}
