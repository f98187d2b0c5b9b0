import Foundation
import PreciseTimerFoundation
import TestSupport
import Testing

/// What rules and files say, and which ones count: pinned facts, and files of the test's own making.
struct ZoneTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    // MARK: Rules

    /// A rule, and offsets in seconds from instants on.
    private static let rules = """
        // Both hemispheres.
        CET-1CEST,M3.5.0,M10.5.0/3 | 2050-03-27T01:00:00Z 7200 2050-10-30T01:00:00Z 3600
        NZST-12NZDT,M9.5.0,M4.1.0/3 | 2050-04-02T14:00:00Z 43200 2050-09-24T14:00:00Z 46800

        // Dublin, where summer time is the standard; Lord Howe, half an hour; Troll, two hours.
        IST-1GMT0,M10.5.0,M3.5.0/1 | 2050-03-27T01:00:00Z 3600 2050-10-30T01:00:00Z 0
        <+1030>-10:30<+11>-11,M10.1.0,M4.1.0 | 2050-04-02T15:00:00Z 37800 2050-10-01T15:30:00Z 39600
        <+00>0<+02>-2,M3.5.0/1,M10.5.0/3 | 2050-03-27T01:00:00Z 7200 2050-10-30T01:00:00Z 0

        // A zone without summer time, and offsets in minutes and seconds.
        <+03>-3 | 2050-01-01T00:00:00Z 10800
        <-0330>+3:30 | 2050-01-01T00:00:00Z -12600
        LMT0:44:30 | 2050-01-01T00:00:00Z -2670
        XXX-24 | 2050-01-01T00:00:00Z 86400

        // Hours of the day before, of the days after, and of the week after.
        IST-2IDT,M3.4.4/26,M10.5.0 | 2050-03-25T00:00:00Z 10800 2050-10-29T23:00:00Z 7200
        <-02>2<-01>,M3.5.0/-1,M10.5.0/0 | 2050-03-27T01:00:00Z -3600 2050-10-30T01:00:00Z -7200
        AAA0BBB,M3.1.0/167,M10.1.0/-167 | 2050-03-12T23:00:00Z 3600 2050-09-25T00:00:00Z 0
        AAA-12BBB,M1.1.0/-100,M7.1.0 | 2050-12-28T08:00:00Z 46800

        // The 60th day is 1 March for a J; without one it is 29 February in a leap year.
        EET-2EEST,J60/0,J300/0 | 2052-02-29T22:00:00Z 10800 2052-10-26T21:00:00Z 7200
        EET-2EEST,J59/0,J300/0 | 2052-02-27T22:00:00Z 10800
        EET-2EEST,59/0,299/0 | 2052-02-28T22:00:00Z 10800 2052-10-25T21:00:00Z 7200
        EET-2EEST,59/0,299/0 | 2051-02-28T22:00:00Z 10800 2051-10-26T21:00:00Z 7200
        EET-2EEST,59/0,299/0 | 2100-02-28T22:00:00Z 10800

        // Rules of the United States, if there is none.
        EST5EDT | 2050-03-13T07:00:00Z -14400 2050-11-06T06:00:00Z -18000
        EST5EDT4:30 | 2050-03-13T07:00:00Z -16200 2050-11-06T06:30:00Z -18000

        """

    @Test(arguments: rules.split(separator: "\n").filter { $0.contains("|") }.map(String.init))
    func aRuleSaysWhenClocksChange(line: String) throws {
        let (rule, facts) = try offsets(line)
        try expect(ZoneLookup(variable: rule, folder: folder.path).find(nil), to: facts)
    }

    /// Summer that ends when it begins anew never ends (RFC 9636, section 3.3.1). Glibc has winter for the first
    /// hours of each year.
    @Test(arguments: ["EST5EDT,0/0,J365/25", "XXX3EDT4,0/0,J365/23", "WART4EDT,J1/0,J365/25"])
    func summerMayLastAllYear(rule: String) throws {
        let zone = try ZoneLookup(variable: rule, folder: folder.path).find(nil)
        let newYear = try second("2050-01-01T00:00:00Z")
        let offsets = (-50...9_000).map { zone.offset(at: newYear + $0 * 3_600) }
        #expect(Set(offsets).count == 1 && Set(offsets) != [rule.hasPrefix("XXX") ? -10_800 : -18_000])
    }

    @Test(arguments: [
        "XYZ", "XYZ-25", "XY-1", "-1", "XYZ-", "XYZ-1:60", "XYZ-1:00:60", "XYZ-1:", "<XYZ-1", "<>-1", "XYZ-1 ",
        "XYZ-1ABC,", "XYZ-1ABC,M3.5.0", "XYZ-1ABC,M3.5.0,M10.5.0,", "XYZ-1ABC,M3.5.0,M10.5.0/3x",
        "XYZ-1ABC,M0.5.0,M10.5.0", "XYZ-1ABC,M13.5.0,M10.5.0", "XYZ-1ABC,M3.0.0,M10.5.0", "XYZ-1ABC,M3.6.0,M10.5.0",
        "XYZ-1ABC,M3.5.7,M10.5.0", "XYZ-1ABC,M3.5,M10.5.0", "XYZ-1ABC,J0,J100", "XYZ-1ABC,J366,J100",
        "XYZ-1ABC,366,100", "XYZ-1ABC,-1,100", "XYZ-1ABC,M3.5.0/168,M10.5.0", "XYZ-1ABC-25,M3.5.0,M10.5.0",
        "XYZ-1AB,M3.5.0,M10.5.0", "XYZ-99999999999999999999", "XYZ\u{661}", "X\u{e9}Z-1", "XYZ--1",
    ])
    func aTextThatIsNoRuleIsRefused(text: String) throws {
        #expect(throws: Zone.Problem.self) { try ZoneLookup(variable: text, folder: folder.path).find(nil) }
        // Nor may a file end with it.
        let damaged = try #require(throws: Zone.Problem.self) { try find(ZoneParts(footer: text)) }
        #expect(damaged.description.contains("damaged"))
    }

    // MARK: Files

    @Test(arguments: [0, 50, 51, 52] as [UInt8])
    func everyVersionIsRead(version: UInt8) throws {
        let zone = try find(ZoneParts(version: version))
        let offsets = [-1, 0, 99, 100, 199, 200, 2_000_000_000].map { zone.offset(at: $0) }
        // Version 1 has no rule for what comes later.
        #expect(offsets == [-2_670, 3_600, 3_600, 7_200, 7_200, 3_600, version == 0 ? 3_600 : 7_200])
    }

    @Test func aFileWithoutARuleKeepsItsLastOffset() throws {
        #expect(try find(ZoneParts(footer: "")).offset(at: 2_000_000_000) == 3_600)
    }

    @Test func aFileWithoutChangesGoesByItsRule() throws {
        let zone = try find(ZoneParts(changes: [], footer: "NZST-12NZDT,M9.5.0,M4.1.0/3"))
        #expect([0, 2_538_000_000].map { zone.offset(at: $0) } == [46_800, 43_200])
    }

    /// The clocks show 23:59:60, here as 23:59:59 once more. A last one of the same number says until when they are
    /// known.
    @Test func leapSecondsAreLeftOut() throws {
        let leaps = [ZoneParts.Leap(at: 110, count: 1), .init(at: 150, count: 2), .init(at: 180, count: 2)]
        let zone = try find(ZoneParts(version: 52, leaps: leaps))
        #expect([109, 110, 149, 150, 190].map { zone.offset(at: $0) } == [7_200, 7_199, 7_199, 7_198, 7_198])
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

    /// Counts of 2³¹ - 1, and of -1.
    @Test func aFileWhoseCountsAreHugeIsDamaged() {
        let whole = ZoneParts().bytes
        for index in 20..<44 where index % 4 == 0 {
            for first in [0x7f, 0xff] as [UInt8] {
                for header in [0, whole.count - ZoneParts().lastBlock] {
                    var bytes = whole
                    bytes.replaceSubrange(header + index..<header + index + 4, with: [first, 0xff, 0xff, 0xff])
                    #expect(throws: Zone.Problem.self, "\(header) \(index)") { try find(bytes) }
                }
            }
        }
    }

    /// Any byte may be another one.
    @Test func aFileWithAWrongByteIsReadOrRefused() throws {
        let whole = ZoneParts(leaps: [.init(at: 110, count: 1)]).bytes
        var refused = 0
        for index in whole.indices {
            for bit in stride(from: index % 8, to: 8, by: Effort.of(8, thorough: 1)) {
                var bytes = whole
                bytes[index] ^= 1 << bit
                guard let zone = try? find(bytes) else {
                    refused += 1
                    continue
                }
                for instant in [-1 << 40, 0, 150, 1 << 40] { #expect(abs(zone.offset(at: instant)) < 4 * 86_400) }
            }
        }
        #expect(refused > whole.count / 4)
    }

    /// In a process of its own, which is ended if it waits for the pipe's other end.
    @Test(.waits("a process reads a pipe, and must not wait")) func whatIsNoFileIsRefusedAtOnce() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let folder = try Folder()
            try folder.write([], to: "inner/file")
            #expect(unsafe mkfifo(folder.path + "/pipe", 0o600) == 0)
            try folder.link("circle", to: "circle")
            let words = [
                "inner": "is not a zone file", "pipe": "is not a zone file", "/dev/null": "is not a zone file",
                "circle": "cannot be read",
            ]
            for (name, words) in words {
                let problem = #expect(throws: Zone.Problem.self, "\(name)") {
                    try ZoneLookup(variable: name, folder: folder.path).find(nil)
                }
                #expect(problem?.description.contains("\(name) \(words)") == true)
            }
        }
    }

    @Test func aNameThatCannotBeAFileIsUnknown() throws {
        try folder.write(ZoneParts().bytes, to: "zone")
        for name in ["zone/zone", String(repeating: "x", count: 5_000)] {
            let problem = try #require(throws: Zone.Problem.self) {
                try ZoneLookup(variable: name, folder: folder.path).find(nil)
            }
            #expect(problem.description.contains("there is no such file"))
        }
    }

    // MARK: Which one counts

    @Test(arguments: ["", ":", "UTC0", ":UTC0"])
    func theVariableMayMeanUTC(variable: String) throws {
        let zone = try ZoneLookup(variable: variable, folder: folder.path).find(nil)
        #expect(zone.offset(at: 2_000_000_000) == 0 && zone.description.hasSuffix("(TZ)"))
    }

    @Test(arguments: ["Asia/Tokyo", ":Asia/Tokyo"])
    func withoutFilesFoundationsRulesCount(variable: String) throws {
        let zone = try ZoneLookup(variable: variable, folder: folder.path).find(nil)
        #expect(
            zone.offset(at: 2_000_000_000) == 32_400 && zone.description.hasPrefix("Asia/Tokyo (Foundation, tzdata 20")
        )
        let named = try ZoneLookup(variable: "", folder: folder.path).find(TimeZone(identifier: "Asia/Tokyo"))
        #expect(named.offset(at: 2_000_000_000) == 32_400 && named.description == zone.description)
        // No machine has a file of such a zone.
        let fixed = try ZoneLookup(variable: "").find(TimeZone(secondsFromGMT: 19_800))
        #expect(fixed.offset(at: 0) == 19_800 && fixed.description.contains("(Foundation, "))
    }

    @Test(arguments: ["No/Where", ":No/Where", "/no/where", "zone/"])
    func anUnknownZoneIsAProblem(variable: String) throws {
        try folder.write(ZoneParts().bytes, to: "zone")
        let problem = try #require(throws: Zone.Problem.self) {
            try ZoneLookup(variable: variable, folder: folder.path).find(nil)
        }
        #expect(problem.description.contains("there is no such file in \(folder.path), and it is not a valid rule"))
    }

    /// Foundation takes these for places.
    @Test(arguments: ["BST", "IST", "PST", "GMT+0530"]) func anAbbreviationIsNoZone(variable: String) throws {
        #expect(TimeZone(identifier: variable) != nil)
        #expect(throws: Zone.Problem.self) { try ZoneLookup(variable: variable, folder: folder.path).find(nil) }
    }

    @Test(arguments: ["UTC", "GMT"]) func theseNamesNeedNoFile(name: String) throws {
        let zone = try ZoneLookup(variable: name, folder: folder.path).find(nil)
        try folder.link("localtime", to: "/no/where/zoneinfo/\(name)")
        let local = try folder.lookup.find(nil)
        #expect(
            [zone, local].map { $0.offset(at: 2_000_000_000) } == [0, 0] && zone.description == "\(name) (no file)"
        )
    }

    /// The path of a link's target, if there is one, what Foundation or the file says for an instant, and the zone's
    /// description. An asterisk is the folder.
    @Test(
        arguments: [
            (nil, 0, "UTC (no *)"), ("*/zoneinfo/Some/Zone", 7_200, "Some/Zone (system, tzdata 2030x)"),
            ("zoneinfo/Some/Zone", 7_200, "* (system)"),
            ("./zoneinfo/Some/Zone", 7_200, "Some/Zone (system, tzdata 2030x)"),
            (
                "/no/where/zoneinfo/Asia/Tokyo", 32_400,
                "Asia/Tokyo (Foundation, tzdata \(TimeZone.timeZoneDataVersion))"
            ),
        ] as [(String?, Int, String)]
    )
    func theFileOfLocalTimeIsALinkOrAbsent(target: String?, offset: Int, description: String) throws {
        try folder.write(ZoneParts().bytes, to: "zoneinfo/Some/Zone")
        try folder.write(Array("# version 2030x\n# more\n".utf8), to: "zoneinfo/tzdata.zi")
        if let target { try folder.link("localtime", to: target.replacing("*", with: folder.path)) }
        let zone = try folder.lookup.find(nil)
        #expect(zone.offset(at: 150) == offset)
        #expect(zone.description == description.replacing("*", with: folder.path + "/localtime"))
    }

    @Test func theFileOfLocalTimeMayBeACopy() throws {
        try folder.write(ZoneParts().bytes, to: "localtime")
        let zone = try folder.lookup.find(nil)
        #expect(zone.offset(at: 150) == 7_200 && zone.description == "\(folder.path)/localtime (system)")
        try folder.write([], to: "localtime")
        #expect(throws: Zone.Problem.self) { try folder.lookup.find(nil) }
    }

    @Test(arguments: ["/no/where", "/no/where/zoneinfo/No/Where", "localtime"])
    func aLinkOfLocalTimeToNothingIsAProblem(target: String) throws {
        try folder.link("localtime", to: target)
        #expect(throws: Zone.Problem.self) { try folder.lookup.find(nil) }
    }

    @Test(arguments: ["", "version 2030x", "# version", "# version 2030x", "# version 2030x\r\n"])
    func theVersionIsToldIfItIsKnown(text: String) throws {
        try folder.write(ZoneParts().bytes, to: "zone")
        try folder.write(Array(text.utf8), to: "tzdata.zi")
        let source = text.hasPrefix("# version 2030x") ? "system, tzdata 2030x" : "system"
        #expect(try ZoneLookup(variable: "zone", folder: folder.path).find(nil).description == "zone (\(source))")
    }

    private func find(_ parts: ZoneParts) throws -> Zone { try find(parts.bytes) }

    private func find(_ bytes: some Collection<UInt8>) throws -> Zone {
        try folder.write(bytes, to: "zone")
        return try ZoneLookup(variable: "zone", folder: folder.path).find(nil)
    }
}

/// A zone that was read is read anew if something has changed.
struct ZoneReaderTests {
    private let folder: Folder
    /// An instant to which the rule of a file applies.
    private let later = 2_000_000_000

    init() throws { folder = try Folder() }

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
        try folder.write(ZoneParts(footer: "AAA-1").bytes, to: "localtime")
        try folder.write(ZoneParts(footer: "AAA-3").bytes, to: "other")
        let lookup = folder.lookup
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
        let (place, folder) = (Self.places[index], folder)
        let lookup = ZoneLookup(
            variable: place.variable?.replacing("*", with: folder.path),
            folder: folder.path,
            localtime: folder.path + "/localtime"
        )
        let reader = ZoneReader(place.zone.flatMap { TimeZone(identifier: $0) }, every: .zero) { lookup }
        var offsets: [Int?] = []
        for footer in ["AAA-1", nil, "AAA-02", nil] {
            if let footer {
                try folder.write(ZoneParts(footer: footer).bytes, to: place.file)
            } else {
                folder.remove(place.file)
            }
            offsets += [try reader.read().offset(at: later), reader.recent()?.offset(at: later)]
        }
        #expect(offsets == [3_600, 3_600, 3_600, 3_600, 7_200, 7_200, 7_200, 7_200])
    }

    @Test func aLinkWhoseFileIsAbsentChangesNothingIfItNamesTheSameZone() throws {
        try folder.write(ZoneParts(footer: "AAA-1").bytes, to: "zoneinfo/Asia/Tokyo")
        let lookup = folder.lookup
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

    /// Both rules are Foundation's, because there is no file.
    @Test func anotherVariableIsAnotherQuestionEvenWithoutAFile() throws {
        let variable = Box<String>()
        let reader = ZoneReader(nil, every: .zero) { [folder] in
            ZoneLookup(variable: variable.value, folder: folder.path, localtime: folder.path + "/localtime")
        }
        variable.value = "zone"
        try folder.write(ZoneParts(footer: "AAA-1").bytes, to: "zone")
        #expect(try reader.read().offset(at: later) == 3_600)
        variable.value = "Asia/Tokyo"
        #expect(try reader.read().offset(at: later) == 32_400)
        variable.value = "no zone"
        #expect(throws: Zone.Problem.self) { try reader.read() }
        variable.value = nil
        #expect(try reader.read().description == "UTC (no \(folder.path)/localtime)")
    }

    /// An editor may keep the file.
    @Test func aFileThatIsWrittenOverIsReadAgain() throws {
        try folder.write(ZoneParts(footer: "AAA-1").bytes, to: "localtime")
        let lookup = folder.lookup
        let reader = ZoneReader(nil, every: .zero) { lookup }
        #expect(reader.recent()?.offset(at: later) == 3_600)
        let file = try #require(FileHandle(forWritingAtPath: folder.path + "/localtime"))
        try file.write(contentsOf: ZoneParts(footer: "AAA-02").bytes)
        #expect(reader.recent()?.offset(at: later) == 7_200)
    }

    @Test func anotherZoneInTheVariableIsNoticed() throws {
        let variable = Box<String>()
        let reader = ZoneReader(nil, every: .zero) { [folder] in
            ZoneLookup(variable: variable.value, folder: folder.path, localtime: folder.path + "/localtime")
        }
        let named = ZoneReader(TimeZone(identifier: "Asia/Tokyo"), every: .zero) { [folder] in
            ZoneLookup(variable: variable.value, folder: folder.path)
        }
        var offsets: [[Int?]] = []
        for text in ["AAA-1", nil, "AAA-2", "Asia/Tokyo", "no rule", ":AAA-1"] {
            variable.value = text
            offsets.append([reader, named].map { $0.recent()?.offset(at: 0) })
        }
        #expect(offsets.map { $0[0] } == [3_600, 0, 7_200, 32_400, 32_400, 3_600])
        #expect(offsets.allSatisfy { $0[1] == 32_400 })
    }

    @Test func aReaderThatNeverReadAGoodFileHasNone() throws {
        try folder.write([1, 2, 3], to: "localtime")
        let lookup = folder.lookup
        let reader = ZoneReader(nil, every: .seconds(3_600)) { lookup }
        #expect(throws: Zone.Problem.self) { try reader.read() }
        #expect(reader.recent() == nil)
        // A good file counts from when it is there.
        try folder.write(ZoneParts(footer: "AAA-1").bytes, to: "localtime")
        #expect(reader.recent()?.offset(at: later) == 3_600)
    }

    @Test(.works("threads read a file that another one replaces"), .timeLimit(.minutes(60)))
    func manyThreadsReadAFileThatIsReplaced() async throws {
        let (folder, lookup) = (folder, folder.lookup)
        let files = ["AAA-1", "AAA-02"].map { ZoneParts(footer: $0).bytes }
        try folder.write(files[0], to: "localtime")
        let reader = ZoneReader(nil, every: .zero) { lookup }
        let seen = Notes<Int?>()
        try await onThreads(4) { number in
            for round in 0..<Effort.of(100, thorough: 5_000) {
                if number == 0 {
                    try? folder.write(files[round % 2], to: "localtime")
                } else {
                    seen.append(reader.recent()?.offset(at: later))
                }
            }
        }
        #expect(Set(seen.all).isSubset(of: [3_600, 7_200]))
        try folder.write(files[1], to: "localtime")
        #expect(reader.recent()?.offset(at: later) == 7_200)
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

    /// The size of the second block and the footer.
    var lastBlock: Int { block(8).count + footer.utf8.count + 2 }

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

    /// A machine whose zone files are in `zoneinfo`, and whose `localtime` is here.
    var lookup: ZoneLookup {
        ZoneLookup(variable: nil, folder: path + "/zoneinfo", localtime: path + "/localtime")
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

/// An instant, and the offset from then on.
typealias OffsetChange = (second: Int, offset: Int)

/// The facts of a line like `name | 2050-03-27T01:00:00Z 7200 2050-10-30T01:00:00Z 3600`.
func offsets(_ line: String) throws -> (name: String, changes: [OffsetChange]) {
    let parts = line.split(separator: "|").map { $0.split(separator: " ") }
    let changes = try stride(from: 0, to: parts[1].count, by: 2)
        .map { (try second(parts[1][$0]), try #require(Int(parts[1][$0 + 1]))) }
    return (String(parts[0][0]), changes)
}

/// Expects offsets from some instants on, and others before. A single fact may hold for all time.
func expect(_ zone: Zone, to facts: [OffsetChange]) {
    for fact in facts {
        #expect(zone.offset(at: fact.second) == fact.offset, "\(zone) at \(fact.second)")
        if facts.count > 1 { #expect(zone.offset(at: fact.second - 1) != fact.offset, "\(zone) before \(fact.second)") }
    }
}

/// The second of an instant like `2050-01-01T00:00:00Z` since 1970.
func second(_ text: some StringProtocol) throws -> Int {
    Int(try Date(String(text), strategy: .iso8601).timeIntervalSince1970)
}
