package import Foundation
internal import Synchronization

/// Reads a zone, and reads it again if its file has changed, or if another zone has become the present one.
package final class ZoneReader: Sendable {
    private struct State {
        /// The last one that could be read.
        var zone: Zone?
        /// What it was read from.
        var origin: Origin?
        /// When the origin was looked at.
        var checked: ContinuousClock.Instant?
    }

    private struct Origin: Equatable {
        let lookup: ZoneLookup
        let file: FileStamp?
    }

    private let zone: TimeZone?
    private let lookup: @Sendable () -> ZoneLookup
    private let interval: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - zone: the zone; nil is the present one.
    ///   - interval: how long what was read is used before its file is looked at again.
    ///   - lookup: what this machine says now.
    package init(
        _ zone: TimeZone?,
        every interval: Duration = .seconds(10),
        lookup: @escaping @Sendable () -> ZoneLookup = { .present }
    ) {
        (self.zone, self.interval, self.lookup) = (zone, interval, lookup)
    }

    private static let shared = Mutex([String?: ZoneReader]())

    /// The reader that all schedules of a zone share; nil is the present one.
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

    /// The zone as its file is now.
    ///
    /// - Throws: `Zone.Problem` if it cannot be read.
    package func read() throws(Zone.Problem) -> Zone {
        // No file is read under the lock. Others use what was read before.
        let known = state.withLock { state in
            state.checked = .now
            return state
        }
        let lookup = lookup()
        let origin = Origin(lookup: lookup, file: lookup.path(of: zone).map(FileStamp.init))
        if let zone = known.zone, known.origin == origin { return zone }
        let zone = try lookup.find(zone)
        state.withLock { ($0.zone, $0.origin) = (zone, origin) }
        return zone
    }

    /// The zone as its file was some seconds ago. If it cannot be read any more, what was read last; nil if it never
    /// could.
    package func recent() -> Zone? {
        let (zone, checked) = state.withLock { ($0.zone, $0.checked) }
        if let zone, let checked, .now < checked + interval { return zone }
        return (try? read()) ?? zone
    }
}
