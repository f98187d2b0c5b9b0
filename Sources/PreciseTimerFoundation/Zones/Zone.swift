package import Foundation
internal import TimerKernel

/// A time zone, with the rules that its clocks follow.
package struct Zone: Sendable, CustomStringConvertible {
    /// Who says which offset counts.
    enum Rules: Sendable {
        case file(ZoneFile)
        case rule(ZoneRule)
        case foundation(TimeZone)
    }

    /// Why a zone cannot be used.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }

    private let name: String
    private let source: String
    private let rules: Rules

    init(name: String, source: String, _ rules: Rules) { (self.name, self.source, self.rules) = (name, source, rules) }

    /// A zone that this machine has no file of. A static linker takes Foundation's zones into a program only if
    /// something refers to that part of it, as the version does.
    init(_ zone: TimeZone) {
        let source = "Foundation, tzdata \(TimeZone.timeZoneDataVersion)"
        self.init(name: zone.identifier, source: source, .foundation(zone))
    }

    /// The name, and where the rules come from, as in `Europe/Berlin (system, tzdata 2025b)`.
    package var description: String { "\(name) (\(source))" }

    /// By how much the clocks are ahead of UTC at an instant in seconds since 1970, in seconds.
    package func offset(at second: Int) -> Int {
        switch rules {
        case .file(let file): file.offset(at: second)
        case .rule(let rule): rule.offset(at: second)
        case .foundation(let zone): zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second)))
        }
    }
}

/// Reads a zone, and reads it again if its file has changed, or if another zone has become the system's.
package final class ZoneReader: Sendable {
    private struct State {
        /// The last one that could be read.
        var zone: Zone?
        /// Its source.
        var origin: Origin?
        /// When the origin was looked at.
        var checked: ContinuousClock.Instant?

        /// The last zone, if it was looked for in the same place. It counts if there is no file: an absent file says
        /// nothing, as after a chroot(2), or while the file is replaced.
        func last(from source: ZoneSource) -> Zone? {
            origin.map { source.isSame(as: $0.source) } == true ? zone : nil
        }
    }

    private struct Origin: Equatable {
        let source: ZoneSource
        let file: FileStamp?
    }

    private let zone: TimeZone?
    private let lookup: @Sendable () -> ZoneLookup
    private let interval: Duration
    private let state = Lock(State())

    /// - Parameters:
    ///   - zone: the zone; nil is the system's.
    ///   - interval: how long what was read is used before its file is looked at again.
    ///   - lookup: what this machine says now.
    package init(
        _ zone: TimeZone?,
        every interval: Duration = .seconds(10),
        lookup: @escaping @Sendable () -> ZoneLookup = { .present }
    ) {
        (self.zone, self.interval, self.lookup) = (zone, interval, lookup)
    }

    private static let shared = Lock([String?: ZoneReader]())

    /// The reader that all schedules of a zone share; nil is the system's.
    package static func of(_ zone: TimeZone?) -> ZoneReader {
        // Foundation's zone that follows the system does so by name.
        let zone = zone == .autoupdatingCurrent ? nil : zone
        return shared.withLock { readers in
            if let reader = readers[zone?.identifier] { return reader }
            let reader = ZoneReader(zone)
            readers[zone?.identifier] = reader
            return reader
        }
    }

    /// The zone as its file is now. The last reading if there is no file any more.
    ///
    /// - Throws: `Zone.Problem` if it cannot be read.
    package func read() throws(Zone.Problem) -> Zone {
        // No file is read under the lock. Other threads use the last reading.
        let known = state.withLock { state in
            state.checked = .now
            return state
        }
        let lookup = lookup()
        let source = lookup.source(of: zone)
        let origin = Origin(source: source, file: source.path.map(FileStamp.init))
        if let zone = known.zone, known.origin == origin { return zone }
        if let zone = try lookup.readFile(of: zone) {
            state.withLock { ($0.zone, $0.origin) = (zone, origin) }
            return zone
        }
        if let last = known.last(from: source) { return last }
        let zone = try lookup.findWithoutFile(zone)
        return state.withLock { state in
            // Another thread may have read the file before it vanished.
            if let last = state.last(from: source) { return last }
            (state.zone, state.origin) = (zone, origin)
            return zone
        }
    }

    /// The zone as its file was some seconds ago. The last reading if it cannot be read any more; nil if it never
    /// could.
    package func recent() -> Zone? {
        let (zone, checked) = state.withLock { ($0.zone, $0.checked) }
        if let zone, let checked, .now < checked + interval { return zone }
        return (try? read()) ?? zone
    }
}

/// Where a zone is looked for.
struct ZoneSource: Equatable {
    /// The name that was asked for, or the zone or place that the link of the system's zone leads to; nil without both.
    let name: String?
    /// The file; nil if there cannot be one.
    let path: String?

    /// Whether this is the same place as before. A link that is absent, too, does not lead to another place.
    func isSame(as last: ZoneSource) -> Bool { path == last.path && (name == nil || name == last.name) }
}

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
        [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
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
