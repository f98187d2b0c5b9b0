import Foundation
import PreciseTimerFoundation
import TestSupport
import Testing

/// What rules and files say, and which ones count, with files of the test's own making. (``ZoneSystemTests`` have the
/// files and rules that the C library reads.)
struct ZoneTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    // MARK: Rules

    /// What the C library says otherwise: a change of the day before New Year, and years after 2037 without dates.
    @Test(arguments: [
        ("AAA-12BBB,M1.1.0/-100,M7.1.0", "2050-12-27T08:00:00Z", [43_200, 46_800]),
        ("EST5EDT", "2050-03-13T07:00:00Z", [-18_000, -14_400]),
        ("EST5EDT4:30", "2050-11-06T06:30:00Z", [-16_200, -18_000]),
    ])
    func aRuleSaysWhenClocksChange(rule: String, instant: String, offsets: [Int]) throws {
        let (zone, change) = (try folder.lookup(rule).find(nil), try second(instant))
        #expect([change - 1, change].map(zone.offset) == offsets)
    }

    /// Summer that ends when it begins anew never ends (RFC 9636, section 3.3.1). Glibc has winter for the first
    /// hours of each year.
    @Test(arguments: ["EST5EDT,0/0,J365/25", "XXX3EDT4,0/0,J365/23", "WART4EDT,J1/0,J365/25"])
    func summerMayLastAllYear(rule: String) throws {
        let zone = try folder.lookup(rule).find(nil)
        let newYear = try second("2050-01-01T00:00:00Z")
        let offsets = (-50...9_000).map { zone.offset(at: newYear + $0 * 3_600) }
        #expect(Set(offsets).count == 1 && Set(offsets) != [rule.hasPrefix("XXX") ? -10_800 : -18_000])
    }

    @Test(arguments: [
        "XYZ", "XYZ-25", "XY-1", "XYZ-1:60", "XYZ-1:00:60", "<XYZ-1", "<>-1", "XYZ-1 ", "XYZ-1ABC,",
        "XYZ-1ABC,M3.5.0", "XYZ-1ABC,M3.5.0,M10.5.0,", "XYZ-1ABC,M0.5.0,M10.5.0", "XYZ-1ABC,M13.5.0,M10.5.0",
        "XYZ-1ABC,M3.0.0,M10.5.0", "XYZ-1ABC,M3.6.0,M10.5.0", "XYZ-1ABC,M3.5.7,M10.5.0", "XYZ-1ABC,M3.5,M10.5.0",
        "XYZ-1ABC,J0,J100", "XYZ-1ABC,J366,J100", "XYZ-1ABC,366,100", "XYZ-1ABC,M3.5.0/168,M10.5.0",
        "XYZ-1ABC-25,M3.5.0,M10.5.0", "XYZ-1AB,M3.5.0,M10.5.0", "XYZ-99999999999999999999", "XYZ\u{661}", "X\u{e9}Z-1",
    ])
    func aTextThatIsNoRuleIsRefused(text: String) throws {
        #expect(throws: Zone.Problem.self) { try folder.lookup(text).find(nil) }
        // Nor may a file end with it.
        let damaged = try #require(throws: Zone.Problem.self) { try find(ZoneParts(footer: text)) }
        #expect(damaged.description.contains("damaged"))
    }

    // MARK: Files

    @Test(arguments: [0, 50, 51, 52] as [UInt8])
    func everyVersionIsRead(version: UInt8) throws {
        let zone = try find(ZoneParts(version: version))
        let offsets = [-1, 0, 99, 100, 199, 200, 2_000_000_000].map(zone.offset)
        // Version 1 has no rule for what comes later.
        #expect(offsets == [-2_670, 3_600, 3_600, 7_200, 7_200, 3_600, version == 0 ? 3_600 : 7_200])
    }

    @Test func aFileThatEndsTooEarlyIsDamaged() throws {
        for version in [0, 50] as [UInt8] {
            let whole = ZoneParts(version: version, leaps: [.init(at: 110, count: 1)]).bytes
            for length in whole.indices {
                let damaged = #expect(throws: Zone.Problem.self) { try find(whole.prefix(length)) }
                #expect(damaged?.description.contains("zone is ") == true, "\(length) bytes")
            }
        }
    }

    @Test(arguments: [
        ZoneParts(magic: "TZig"), ZoneParts(offsets: []), ZoneParts(changes: [.init(at: 0, kind: 3)]),
        ZoneParts(offsets: [0, 3_600, 172_800]), ZoneParts(offsets: [0, 3_600, -172_800]),
        ZoneParts(offsets: [0, 3_600, Int(Int32.min)]),
        ZoneParts(changes: [.init(at: 1, kind: 1), .init(at: 1, kind: 0)]),
        ZoneParts(changes: [.init(at: 1, kind: 1), .init(at: 0, kind: 0)]),
        ZoneParts(leaps: [.init(at: 5, count: 1), .init(at: 4, count: 2)]),
        ZoneParts(leaps: [.init(at: 5, count: Int(Int32.max))]),
        ZoneParts(leaps: [.init(at: 5, count: Int(Int32.min))]),
    ])
    func aFileOfNonsenseIsDamaged(parts: ZoneParts) {
        let damaged = #expect(throws: Zone.Problem.self) { try find(parts) }
        let words = parts.magic == "TZif" ? "zone is damaged" : "zone is not a zone file"
        #expect(damaged?.description.contains(words) == true)
    }

    /// Any byte may be another one.
    @Test func aFileWithAWrongByteIsReadOrRefused() throws {
        let whole = ZoneParts(leaps: [.init(at: 110, count: 1)]).bytes
        var read = 0
        for index in whole.indices {
            for byte in [0x7f, 0xff, whole[index] ^ 1 << (index % 8)] where byte != whole[index] {
                var bytes = whole
                bytes[index] = byte
                guard let zone = try? find(bytes) else { continue }
                read += 1
                for instant in [-1 << 40, 0, 150, 1 << 40] { #expect(abs(zone.offset(at: instant)) < 4 * 86_400) }
            }
        }
        #expect((whole.count..<whole.count * 9 / 4).contains(read), "\(read) of \(whole.count)")
    }

    /// In a process of its own, which is ended if it waits for the pipe's other end. Root may read any file.
    @Test(.waits("a process reads a pipe, and must not wait")) func whatIsNoFileOrMayNotBeReadIsRefusedAtOnce() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let folder = try Folder()
            for name in ["inner/file", "zone", "locked/zone"] { try folder.write(ZoneParts().bytes, to: name) }
            #expect(unsafe mkfifo(folder.path + "/pipe", 0o600) == 0)
            #expect(unsafe chmod(folder.path + "/zone", 0) == 0 && chmod(folder.path + "/locked", 0) == 0)
            let (problem, refusal) = ("is not a zone file", "cannot be read: ")
            var names = [("inner", problem), ("pipe", problem), ("/dev/null", problem)]
            if seteuid(65_534) == 0 || geteuid() != 0 { names += [("zone", refusal), ("locked/zone", refusal)] }
            for (name, words) in names {
                let problem = #expect(throws: Zone.Problem.self) { try folder.lookup(name).find(nil) }
                #expect(problem?.description.contains("\(name) \(words)") == true)
            }
            _ = seteuid(getuid())
            // What nobody may look into cannot be removed.
            for name in ["zone", "locked"] { _ = unsafe chmod(folder.path + "/" + name, 0o700) }
        }
    }

    // MARK: Which one counts

    private static let foundation = "(Foundation, tzdata \(TimeZone.timeZoneDataVersion))"

    /// The variable, and where the file of local time leads, if there is one; the offset, and the zone's description.
    /// Or no offset, and words of the problem. An asterisk is the folder.
    private static let machines: [(variable: String?, target: String?, offset: Int?, words: String)] = [
        (":", nil, 0, "UTC (TZ)"), (":UTC0", nil, 0, "UTC0 (TZ)"), ("UTC", nil, 0, "UTC (no file)"),
        ("GMT", nil, 0, "GMT (no file)"), ("Some/Zone", nil, 7_200, "Some/Zone (system, tzdata 2030x)"),
        ("*/zoneinfo/Some/Zone", nil, 7_200, "*/zoneinfo/Some/Zone (system, tzdata 2030x)"),
        (":Asia/Tokyo", nil, 32_400, "Asia/Tokyo \(foundation)"),
        // The file of local time is a link, or absent.
        (nil, nil, 0, "UTC (no */localtime)"), (nil, "zoneinfo/Some/Zone", 7_200, "*/localtime (system)"),
        (nil, "*/zoneinfo/Some/Zone", 7_200, "Some/Zone (system, tzdata 2030x)"),
        (nil, "./zoneinfo/Some/Zone", 7_200, "Some/Zone (system, tzdata 2030x)"),
        (nil, "/no/where/zoneinfo/Asia/Tokyo", 32_400, "Asia/Tokyo \(foundation)"),
        (nil, "/no/where/zoneinfo/UTC", 0, "UTC (no file)"),
        (nil, "/no/where", nil, "is a link to /no/where, but there is no such file"),
        (nil, "/no/where/zoneinfo/No/Where", nil, "but there is no such file"),
        (nil, "localtime", nil, "cannot be read"),
        // There is no such zone.
        ("No/Where", nil, nil, "there is no such file in */zoneinfo, and it is not a valid rule"),
        ("Some/Zone/", nil, nil, "there is no such file"), ("/no/where", nil, nil, "there is no such file"),
        (String(repeating: "x", count: 5_000), nil, nil, "there is no such file"),
        // Foundation takes these for places.
        ("BST", nil, nil, "there is no such file"), ("GMT+0530", nil, nil, "there is no such file"),
    ]

    @Test(arguments: machines.indices) func theVariableCountsOrElseTheFileOfLocalTime(number: Int) throws {
        let (variable, target, offset, words) = Self.machines[number]
        let place = folder.path
        try folder.write(ZoneParts().bytes, to: "zoneinfo/Some/Zone")
        try folder.write(Array("# version 2030x\n# more\n".utf8), to: "zoneinfo/tzdata.zi")
        if let target { try folder.link("localtime", to: target.replacing("*", with: place)) }
        let lookup = ZoneLookup(
            variable: variable?.replacing("*", with: place),
            folder: place + "/zoneinfo",
            localtime: place + "/localtime"
        )
        if let offset {
            let zone = try lookup.find(nil)
            #expect(zone.offset(at: 150) == offset && zone.description == words.replacing("*", with: place))
        } else {
            let problem = try #require(throws: Zone.Problem.self) { try lookup.find(nil) }
            #expect(problem.description.contains(words.replacing("*", with: place)))
        }
    }

    @Test(arguments: ["", "version 2030x", "# version", "# version 2030x", "# version 2030x\r\n"])
    func theVersionIsToldIfItIsKnown(text: String) throws {
        try folder.write(Array(text.utf8), to: "tzdata.zi")
        let source = text.hasPrefix("# version 2030x") ? "system, tzdata 2030x" : "system"
        #expect(try find(ZoneParts()).description == "zone (\(source))")
    }

    private func find(_ parts: ZoneParts) throws -> Zone { try find(parts.bytes) }

    private func find(_ bytes: some Collection<UInt8>) throws -> Zone {
        try folder.write(bytes, to: "zone")
        return try folder.lookup("zone").find(nil)
    }
}

/// A zone that was read is read anew if something has changed.
struct ZoneReaderTests {
    private let folder: Folder
    /// An instant to which the rule of a file applies.
    private let later = 2_000_000_000

    init() throws { folder = try Folder() }

    /// Writes a file that ends with a rule.
    private func write(_ rule: String, to name: String = "localtime") throws {
        try folder.write(ZoneParts(footer: rule).bytes, to: name)
    }

    private typealias Change = (name: String, make: @Sendable (Folder) throws -> Void, offset: Int?)

    /// Changes, each with the offset afterwards; nil if the zone cannot be read, and -1 if the change says nothing.
    private static let changes: [Change] = [
        ("another file", { try $0.write(ZoneParts(footer: "AAA-02").bytes, to: "localtime") }, 7_200),
        ("a link", { try $0.link("localtime", to: "other") }, 10_800),
        ("a link to no file", { try $0.link("localtime", to: "/zoneinfo/Asia/Tokyo") }, 32_400),
        ("another link to no file", { try $0.link("localtime", to: "/zoneinfo/Asia/Kolkata") }, 19_800),
        ("no file", { $0.remove("localtime") }, -1),
        ("a damaged file", { try $0.write([1, 2, 3], to: "localtime") }, nil),
        ("an unknown zone", { try $0.link("localtime", to: "/zoneinfo/No/Where") }, nil),
    ]

    @Test(arguments: changes.indices, changes.indices)
    func aChangeIsNoticedAndTheLastGoodZoneIsKept(first: Int, second: Int) throws {
        try write("AAA-1")
        try write("AAA-3", to: "other")
        let lookup = folder.lookup()
        let reader = ZoneReader(nil, every: .zero) { lookup }
        let slow = ZoneReader(nil, every: .seconds(3_600)) { lookup }
        #expect(try [reader, slow].map { try $0.read().offset(at: later) } == [3_600, 3_600])
        var last = 3_600
        for change in [Self.changes[first], Self.changes[second]] {
            try change.make(folder)
            let offset = change.offset == -1 ? last : change.offset
            last = offset ?? last
            #expect(reader.recent()?.offset(at: later) == last, "\(change.name)")
            #expect((try? reader.read())?.offset(at: later) == offset, "\(change.name)")
        }
        // Within its interval, the other one has looked at nothing.
        #expect(slow.recent()?.offset(at: later) == 3_600)
        let offset = Self.changes[second].offset
        #expect((try? slow.read())?.offset(at: later) == (offset == -1 ? 3_600 : offset))
    }

    @Test(.waits("ten seconds pass"), .timeLimit(.minutes(60)))
    func aFileThatIsWrittenOverIsReadAgainAfterTenSeconds() async throws {
        try write("AAA-1")
        let (lookup, start) = (folder.lookup(), ContinuousClock.now)
        let reader = ZoneReader(nil) { lookup }
        #expect(reader.recent()?.offset(at: later) == 3_600)
        // As an editor may write it.
        let file = try #require(FileHandle(forWritingAtPath: folder.path + "/localtime"))
        try file.write(contentsOf: ZoneParts(footer: "AAA-02").bytes)
        #expect(await soon { reader.recent()?.offset(at: later) == 7_200 })
        #expect(start.duration(to: .now) >= .seconds(10))
    }

    private typealias Place = (file: String, variable: String?, zone: String?)

    /// Files that may be absent for a moment, each with a variable and a zone that mean it. The folder is an asterisk.
    private static let places: [Place] = [
        ("localtime", nil, nil), ("Asia/Tokyo", "Asia/Tokyo", nil), ("Asia/Tokyo", ":Asia/Tokyo", nil),
        ("own", ":own", nil), ("own", ":*/own", nil), ("own", "*/own", nil), ("UTC", "UTC", nil),
        // Its name is also a rule.
        ("EST5EDT", "EST5EDT", nil), ("Asia/Tokyo", nil, "Asia/Tokyo"), ("Asia/Tokyo", "AAA-3", "Asia/Tokyo"),
    ]

    @Test(arguments: places.indices)
    func anAbsentFileChangesNothing(index: Int) throws {
        let place = Self.places[index]
        let lookup = folder.lookup(place.variable?.replacing("*", with: folder.path))
        let reader = ZoneReader(place.zone.flatMap { TimeZone(identifier: $0) }, every: .zero) { lookup }
        var offsets: [Int?] = []
        for rule in ["AAA-1", nil, "AAA-02", nil] {
            if let rule { try write(rule, to: place.file) } else { folder.remove(place.file) }
            offsets += [try reader.read().offset(at: later), reader.recent()?.offset(at: later)]
        }
        #expect(offsets == [3_600, 3_600, 3_600, 3_600, 7_200, 7_200, 7_200, 7_200])
    }

    @Test func aLinkWhoseFileIsAbsentChangesNothingIfItNamesTheSameZone() throws {
        try write("AAA-1", to: "zoneinfo/Asia/Tokyo")
        let lookup = folder.lookup()
        let reader = ZoneReader(nil, every: .zero) { lookup }
        var offsets: [Int] = []
        for target in ["\(folder.path)/zoneinfo/Asia/Tokyo", "./zoneinfo/Asia/Tokyo", "/zoneinfo/Asia/Kolkata"] {
            try folder.link("localtime", to: target)
            offsets.append(try reader.read().offset(at: later))
            folder.remove("zoneinfo/Asia/Tokyo")
            offsets.append(try reader.read().offset(at: later))
        }
        #expect(offsets == [3_600, 3_600, 3_600, 3_600, 19_800, 19_800])
    }

    /// It is another question, also if neither answer comes from a file.
    @Test func anotherZoneInTheVariableIsNoticed() throws {
        try write("AAA-4", to: "zone")
        let (variable, folder) = (Box<String>(), folder)
        let reader = ZoneReader(nil, every: .zero) { folder.lookup(variable.value) }
        var (recent, read): ([Int?], [Int?]) = ([], [])
        for text in ["AAA-1", nil, "zone", "Asia/Tokyo", "no rule", nil, ":AAA-1"] {
            variable.value = text
            recent.append(reader.recent()?.offset(at: later))
            read.append((try? reader.read())?.offset(at: later))
        }
        #expect(recent == [3_600, 0, 14_400, 32_400, 32_400, 0, 3_600])
        #expect(read == [3_600, 0, 14_400, 32_400, nil, 0, 3_600])
    }

    @Test(.works("a thread reads while another writes"), .timeLimit(.minutes(60)))
    func aFileThatIsReplacedWhileItIsReadIsReadAgain() async throws {
        let (folder, later, rounds) = (folder, later, Effort.of(40, thorough: 400))
        let reader = ZoneReader(nil, every: .zero) { folder.lookup() }
        let (stale, reads, isOver) = (Count(), Count(), Gate())
        // It takes a while to read so many.
        let changes = (0..<1_000).map { ZoneParts.Change(at: $0, kind: 1) }
        let files = (0..<2).map { ZoneParts(changes: changes, footer: "AAA-\($0)").bytes }
        try await onThreads(2) { thread in
            while thread == 1, !isOver.isPassable {
                _ = reader.recent()
                reads.add(1)
            }
            for round in 0..<rounds where thread == 0 {
                try? folder.write(files[0], to: "localtime")
                // The other thread begins to read it.
                pause(.microseconds(round * 10))
                try? folder.write(files[1], to: "localtime")
                reads.awaitChange()
                if reader.recent()?.offset(at: later) != 3_600 { stale.add(1) }
            }
            isOver.open()
        }
        #expect(stale.value == 0)
    }

    @Test func aReaderThatNeverReadAGoodFileHasNone() throws {
        try folder.write([1, 2, 3], to: "localtime")
        let lookup = folder.lookup()
        let reader = ZoneReader(nil, every: .seconds(3_600)) { lookup }
        #expect(throws: Zone.Problem.self) { try reader.read() }
        #expect(reader.recent() == nil)
        // A good file counts from when it is there.
        try write("AAA-1")
        #expect(reader.recent()?.offset(at: later) == 3_600)
    }
}

// MARK: Files of the test's own making

/// The parts of a zone file (RFC 9636, section 3).
struct ZoneParts: Sendable {
    struct Change { let (at, kind): (Int, UInt8) }
    struct Leap { let (at, count): (Int, Int) }

    var magic = "TZif"
    /// 0 is version 1; the others are digits.
    var version: UInt8 = 50
    var changes = [Change(at: 0, kind: 1), .init(at: 100, kind: 2), .init(at: 200, kind: 1)]
    var offsets = [-2_670, 3_600, 7_200]
    var leaps: [Leap] = []
    var footer = "CET-1CEST,M3.5.0,M10.5.0/3"

    var bytes: [UInt8] {
        if version == 0 { return block(4) }
        // Nobody is to believe the first block.
        let first = ZoneParts(magic: magic, version: version, changes: [], offsets: [1])
        return first.block(4) + block(8) + Array("\n\(footer)\n".utf8)
    }

    private func block(_ size: Int) -> [UInt8] {
        let names = Array("AAA\0".utf8)
        let counts = [offsets.count, offsets.count, leaps.count, changes.count, offsets.count, names.count]
        var bytes = Array(magic.utf8) + [version] + [UInt8](repeating: 0, count: 15)
        for count in counts { bytes += number(count, 4) }
        for change in changes { bytes += number(change.at, size) }
        bytes += changes.map(\.kind)
        for offset in offsets { bytes += number(offset, 4) + [0, 0] }
        bytes += names
        for leap in leaps { bytes += number(leap.at, size) + number(leap.count, 4) }
        return bytes + [UInt8](repeating: 0, count: offsets.count * 2)
    }

    private func number(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) }
    }
}

/// A folder for zone files, which is removed with the value.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString)/zones"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: URL(fileURLWithPath: path).deletingLastPathComponent()) }

    /// A machine whose zone files and whose `localtime` are here.
    func lookup(_ variable: String? = nil) -> ZoneLookup {
        ZoneLookup(variable: variable, folder: path, localtime: path + "/localtime")
    }

    /// Puts a file in place of what is there, at once.
    func write(_ bytes: some Collection<UInt8>, to name: String) throws {
        try replace(name) { try Data(bytes).write(to: URL(fileURLWithPath: $0)) }
    }

    func link(_ name: String, to target: String) throws {
        try replace(name) { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: target) }
    }

    /// Removes a file, if there is one.
    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path + "/" + name) }

    private func replace(_ name: String, with make: (String) throws -> Void) throws {
        let (fresh, place) = (path + "/../\(UUID().uuidString)", URL(fileURLWithPath: path + "/" + name))
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try make(fresh)
        _ = unsafe rmdir(place.path)
        if unsafe rename(fresh, place.path) != 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
}

/// The second of an instant like `2050-01-01T00:00:00Z` since 1970.
func second(_ text: some StringProtocol) throws -> Int {
    Int(try Date(String(text), strategy: .iso8601).timeIntervalSince1970)
}
