package import Foundation

/// Where this machine keeps its zones, and which one is the system's: the C library goes by it.
///
/// The variable `TZ` has a name, a path or a rule, perhaps after a colon; if it is not set, `/etc/localtime` counts.
package struct ZoneLookup: Equatable, Sendable {
    /// The variable; nil if it is not set.
    let variable: String?
    /// The folder of the zone files.
    let folder: String
    /// The file of the system's zone.
    let localtime: String

    package init(variable: String?, folder: String? = nil, localtime: String = "/etc/localtime") {
        self.variable = variable
        self.folder = folder.flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/share/zoneinfo"
        self.localtime = localtime
    }

    /// What the variables of this process say now.
    package static var present: ZoneLookup {
        ZoneLookup(variable: Self.variable("TZ"), folder: Self.variable("TZDIR"))
    }

    private static func variable(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }

    /// Where a zone is looked for; nil is the system's.
    func source(of zone: TimeZone?) -> ZoneSource {
        guard let name = zone?.identifier ?? name else {
            return ZoneSource(name: nameOfTarget ?? target, path: localtime)
        }
        return ZoneSource(name: name, path: name.isEmpty ? nil : path(named: name))
    }

    private func path(named name: String) -> String { name.hasPrefix("/") ? name : folder + "/" + name }

    /// The text of the variable without its colon.
    private var name: String? {
        variable.map { String($0.hasPrefix(":") ? $0.dropFirst() : $0[...]) }
    }

    /// Reads a zone; nil is the system's.
    ///
    /// - Throws: `Zone.Problem` if a file cannot be read, or if there is no such zone.
    package func find(_ zone: TimeZone?) throws(Zone.Problem) -> Zone {
        if let zone = try readFile(of: zone) { return zone }
        return try findWithoutFile(zone)
    }

    /// Reads the file of a zone; nil is the system's. Returns nil if there is no such file.
    func readFile(of zone: TimeZone?) throws(Zone.Problem) -> Zone? {
        if let zone { return try read(path(named: zone.identifier), zone.identifier) }
        guard let name else { return try read(localtime, nameOfTarget ?? localtime) }
        if name.isEmpty { return nil }
        do throws(Zone.Problem) {
            return try read(path(named: name), name)
        } catch {
            throw Zone.Problem("TZ is \"\(name)\", but \(error)")
        }
    }

    /// Finds a zone that has no file; nil is the system's.
    func findWithoutFile(_ zone: TimeZone?) throws(Zone.Problem) -> Zone {
        if let zone { return Zone(zone) }
        guard let name else { return try findLocalWithoutFile() }
        // The C library takes an empty text for UTC.
        if name.isEmpty { return Zone(name: "UTC", source: "TZ", .rule(.utc)) }
        if let rule = ZoneRule(name) { return Zone(name: name, source: "TZ", .rule(rule)) }
        if let zone = zoneWithoutFile(named: name) { return zone }
        throw Zone.Problem(
            "TZ is \"\(name)\", but there is no such file in \(folder), and it is not a valid rule; "
                + "correct TZ, or give the schedule a zone"
        )
    }

    /// A zone that this machine has no file of. Foundation also takes abbreviations, as BST, but it is not known which
    /// zone they mean.
    private func zoneWithoutFile(named name: String) -> Zone? {
        if name == "UTC" || name == "GMT" { return Zone(name: name, source: "no file", .rule(.utc)) }
        return name.contains("/") ? TimeZone(identifier: name).map(Zone.init) : nil
    }

    private func findLocalWithoutFile() throws(Zone.Problem) -> Zone {
        guard let target else { return Zone(name: "UTC", source: "no \(localtime)", .rule(.utc)) }
        if let zone = nameOfTarget.flatMap(zoneWithoutFile) { return zone }
        throw Zone.Problem(
            "\(localtime) is a link to \(target), but there is no such file; "
                + "make it a link to a zone file, or give the schedule a zone"
        )
    }

    /// Where the link of the system's zone leads; nil if it is no link.
    private var target: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: localtime) }

    /// The zone that this link names.
    private var nameOfTarget: String? {
        guard let target, let folder = target.range(of: "/zoneinfo/") else { return nil }
        return String(target[folder.upperBound...])
    }

    /// Nil if there is no such file.
    private func read(_ path: String, _ name: String) throws(Zone.Problem) -> Zone? {
        guard let bytes = try ZoneBytes.read(path) else { return nil }
        do throws(ZoneFile.Flaw) {
            let isOfFolder = !name.hasPrefix("/") || name.hasPrefix(folder + "/")
            let version = isOfFolder ? version : nil
            return Zone(
                name: name,
                source: version.map { "system, tzdata \($0)" } ?? "system",
                .file(try ZoneFile(bytes))
            )
        } catch {
            throw Zone.Problem("\(path) \(error.description); replace it")
        }
    }

    /// The version of the files in the folder, if it is known: the second word of a comment in `tzdata.zi`.
    private var version: String? {
        // The file is a hundred times as long as that of a zone.
        let bytes = (try? FileHandle(forReadingAtPath: folder + "/tzdata.zi")?.read(upToCount: 64)) ?? Data()
        let words = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }.split(separator: " ")
        return words.count == 3 && words[..<2] == ["#", "version"] ? String(words[2]) : nil
    }
}
