import Foundation
import Glibc
import PreciseTimerFoundation
import TestSupport
import Testing

/// The zones of this machine and of its C library, which has one zone for a process: each test has its own process.
@Suite(.works("the C library is asked at many instants"), .timeLimit(.minutes(60)))
struct ZoneSystemTests {
    @Test(.needsZones)
    func zonesOfTheMachineAreAsInTheCLibrary() async {
        await #expect(processExitsWith: .success) {
            let paths = MachineZones.paths
            #expect(paths.count > 100)
            for file in Effort.some(paths) { try CLibrary.expectOurs(":" + file) }
        }
    }

    // MARK: Forms of TZ

    /// An asterisk is a folder with the files `zone` and `UTC0`.
    private static let forms = [
        "zone", ":zone", "../zones/zone", ":../zones/zone", "*/zone", ":*/zone", "*/../zones/zone",
        "", ":", "UTC0", ":UTC0", "XYZ0", ":XYZ0", "<+03>-3", ":<+03>-3", "<-0330>+3:30", "LMT0:44:30", "XYZ24",
        "XYZ-24",
        "CET-1CEST,M3.5.0,M10.5.0/3", ":CET-1CEST,M3.5.0,M10.5.0/3", "NZST-12NZDT,M9.5.0,M4.1.0/3",
        "EST5EDT4,M3.2.0,M11.1.0", "EST5EDT,M3.2.0/2:00:00,M11.1.0/2:00:00", "AAA+1:30BBB+0:15,M4.1.1,M9.2.5",
        "IST-1GMT0,M10.5.0,M3.5.0/1", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3",
        "IST-2IDT,M3.4.4/26,M10.5.0", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "AAA3BBB,M3.2.0/167,M11.1.0/-167",
        "EET-2EEST,J60/1,J300/4", "EET-2EEST,J59,J301", "EET-2EEST,59/1,299/4", "EET-2EEST,58,M10.5.6/24",
        "AAA0BBB,M3.1.0/167,M10.1.0/-167", "EET-2EEST,J60/0,J300/0", "EET-2EEST,59/0,299/0",
    ]

    /// Some systems have no file whose name is a rule.
    private static let names =
        ["Europe/Dublin", ":Africa/Casablanca", "../zoneinfo/Africa/Monrovia"]
        + ["EST5EDT"].filter { FileManager.default.fileExists(atPath: MachineZones.folder + "/" + $0) }

    @Test func eachFormOfTheVariableIsAsInTheCLibrary() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            for name in ["zone", "UTC0"] { try folder.write(ZoneParts().bytes, to: name) }
            for form in Self.forms {
                try CLibrary.expectOurs(form.replacing("*", with: folder.path), folder: folder.path)
            }
            // Years before 2007 had other rules. After 2037 glibc shows the clocks of New York, if it has that file.
            let years = try second("2007-01-01T00:00:00Z")..<second("2037-01-01T00:00:00Z")
            for form in ["EST5EDT", "XYZ5ABC3", ":CET-1CEST", "NZST-12NZDT"] {
                try CLibrary.expectOurs(form, folder: folder.path, in: years)
            }
            try CLibrary.expectOurs(nil)
        }
    }

    @Test(.needsZones) func namesMeanFilesOfTheUsualFolder() async {
        await #expect(processExitsWith: .success) {
            let years = try second("1900-01-01T00:00:00Z")..<second("2101-01-01T00:00:00Z")
            for name in Self.names {
                for folder in ["", nil] { try CLibrary.expectOurs(name, folder: folder, in: years) }
            }
        }
    }

    // MARK: Files of the zone compiler

    /// What zones may have: summer at New Year, negative summer time, seconds, a day that is left out.
    private static let source = """
        Rule S 1990 max - Apr Sun>=1 2:00s 0 -
        Rule S 1990 max - Oct Sun>=1 2:00s 0:30 D
        Rule I 1971 max - Oct lastSun 1:00u -1:00 -
        Rule I 1971 max - Mar lastSun 1:00u 0 -
        Zone A/South 0:44:30 - LMT 1972 Jan 7
          -10:30 - XXX 1994 Dec 31
          13:30 S YY%sT
        Zone A/West 1:00 I IST/GMT
        """
    private static let leaps = """
        Leap 1972 Jun 30 23:59:60 + S
        Leap 2016 Dec 31 23:59:60 + S
        """

    @Test(.needsZoneCompiler) func everyKindOfCompiledFileIsAsInTheCLibrary() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            try folder.write(Array("\(Self.leaps)\n".utf8), to: "leaps")
            try folder.write(Array("\(Self.leaps)\nExpires 2030 Jun 28 00:00:00\n".utf8), to: "ending")
            let (leaps, ending) = (folder.path + "/leaps", folder.path + "/ending")
            let kinds = [[], ["-L", leaps], ["-L", ending], ["-r", "@0/@2000000000"], ["-L", leaps, "-r", "@0"]]
            for size in ["fat", "slim"] {
                for kind in kinds {
                    try await ZoneCompiler.run(Self.source, in: folder, ["-b", size] + kind)
                    for zone in ["A/South", "A/West"] {
                        try CLibrary.expectOurs(":" + zone, folder: folder.path, "\(size) \(kind)")
                    }
                }
            }
        }
    }

    /// A calendar takes the file of a name, or else what Foundation knows of it. Clocks may be more than a day ahead.
    @Test func calendarsFollowTheFilesThatTheMachineHas() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            try folder.write(ZoneParts(footer: "AAA-5").bytes, to: "Europe/Berlin")
            CLibrary.use("UTC-24:59:59", folder: folder.path)
            let zones = [nil, TimeZone(identifier: "Europe/Berlin"), TimeZone(identifier: "Asia/Tokyo")]
            let nights = try zones.map { zone in
                let rule = CalendarRule(DateComponents(hour: 2, minute: 30), in: zone)
                return try rule.next(after: second("2050-07-01T00:00:00Z"))
            }
            #expect(
                nights == [
                    try second("2050-07-01T01:30:01Z"), try second("2050-07-01T21:30:00Z"),
                    try second("2050-07-01T17:30:00Z"),
                ]
            )
            let hourly = CalendarRule(DateComponents(minute: 0), in: nil)
            let start = try second("2026-12-01T00:00:01Z")
            let hours = sequence(first: start) { hourly.next(after: $0) }.prefix(50).map { ($0 - start) / 3_600 }
            #expect(hours == Array(0..<50))
        }
    }

    /// New ones, too. To Foundation, the clocks of Tokyo are nine hours ahead.
    @Test(.enabled(if: geteuid() == 0, "needs root")) func afterAChrootCalendarsKeepTheirZones() async {
        await #expect(processExitsWith: .success) {
            let (folder, outside, zone) = (try Folder(), unsafe open("/", O_RDONLY), TimeZone(identifier: "Asia/Tokyo"))
            try folder.write(ZoneParts(footer: "AAA-6").bytes, to: "Asia/Tokyo")
            CLibrary.use(nil, folder: folder.path)
            for isInside in [false, true] {
                if isInside { try #require(unsafe chroot(folder.path) == 0 && chdir("/") == 0) }
                let rule = CalendarRule(DateComponents(hour: 2, minute: 30), in: zone)
                #expect(try rule.next(after: second("2050-07-01T00:00:00Z")) == second("2050-07-01T20:30:00Z"))
                #expect(try ZoneReader.of(zone).read().description == "Asia/Tokyo (system)")
            }
            // The folder is removed from here.
            withExtendedLifetime(folder) { _ = unsafe fchdir(outside) == 0 && chroot(".") == 0 }
        }
    }
}

/// The zone files of this machine.
private enum MachineZones {
    static let folder = "/usr/share/zoneinfo"

    static let areThere = FileManager.default.fileExists(atPath: folder + "/Europe/Berlin")

    /// The paths of all files that are no links.
    static var paths: [String] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.sorted().map { folder + "/" + $0 }.filter(isZone)
    }

    private static func isZone(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return FileManager.default.contents(atPath: path)?.starts(with: "TZif".utf8) == true
    }
}

/// What the C library says of its present zone.
private enum CLibrary {
    /// Sets the variables; nil removes one.
    static func use(_ variable: String?, folder: String? = nil) {
        // The same zone in another folder is not noticed.
        unsafe setenv("TZ", "AAA0", 1)
        tzset()
        for (name, value) in [("TZ", variable), ("TZDIR", folder)] {
            if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
        }
        tzset()
    }

    /// By how much its clocks are ahead. During a leap second they show the one before it again.
    static func offset(at second: Int) -> Int {
        var (time, shown) = unsafe (time_t(second), tm())
        unsafe localtime_r(&time, &shown)
        // timegm(3) would count leap seconds.
        let (years, day) = unsafe (Int(shown.tm_year) + 1_899, Int(shown.tm_yday))
        let days = years * 365 + years / 4 - years / 100 + years / 400 + day - 719_162
        let clock = unsafe Int(shown.tm_hour * 3_600 + shown.tm_min * 60 + min(59, shown.tm_sec))
        return days * 86_400 + clock - second
    }

    /// Sets the variables, and expects that our present zone has the same offset, from 1970 to 2100 or in other years:
    /// at each change, a second before and after, and every ten days. A thorough run looks every two days.
    static func expectOurs(
        _ variable: String?,
        folder: String? = nil,
        in seconds: Range<Int> = 0..<4_133_980_800,
        _ comment: String = ""
    ) throws {
        use(variable, folder: folder)
        let (zone, step) = (try ZoneLookup.present.find(nil), Effort.of(864_000, thorough: 172_800))
        var found: [String] = []
        func compare(_ second: Int) {
            let (ours, theirs) = (zone.offset(at: second), offset(at: second))
            if ours != theirs, found.count < 5 { found.append("\(ours), not \(theirs) at \(second)") }
        }
        var (start, before) = (seconds.lowerBound, offset(at: seconds.lowerBound))
        while start < seconds.upperBound {
            compare(start)
            let after = offset(at: start + step)
            if after != before {
                let change = change(from: start, to: start + step)
                for near in change - 1...change + 1 { compare(near) }
            }
            (start, before) = (start + step, after)
        }
        #expect(found == [], "\(variable ?? "no TZ") \(comment)")
    }

    /// The first second with another offset than the first one.
    private static func change(from start: Int, to end: Int) -> Int {
        var (before, after) = (start, end)
        let first = offset(at: start)
        while before + 1 < after {
            let middle = (before + after) / 2
            if offset(at: middle) == first { before = middle } else { after = middle }
        }
        return after
    }
}

/// The compiler of zone files, zic(8).
private enum ZoneCompiler {
    static let path = ["/usr/sbin/zic", "/usr/bin/zic"].first(where: FileManager.default.isExecutableFile)

    static func run(_ source: String, in folder: Folder, _ options: [String]) async throws {
        // An old one refuses a last line without an end.
        try folder.write(Array("\(source)\n".utf8), to: "source")
        let command = [try #require(path)] + options + ["-d", folder.path, folder.path + "/source"]
        try #require(try await Child.run(command).code == 0)
    }
}

extension Trait where Self == ConditionTrait {
    fileprivate static var needsZones: Self {
        .enabled(if: MachineZones.areThere, "needs zone files, of the package tzdata")
    }
    fileprivate static var needsZoneCompiler: Self {
        .enabled(if: ZoneCompiler.path != nil, "needs zic, of the package libc-bin")
    }
}
