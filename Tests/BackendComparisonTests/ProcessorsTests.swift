#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing
import TimerKernel

@testable import BackendComparison

/// Processors, and the load that other programs make.
struct ProcessorsTests {
    @Test func aListOfProcessorsIsReadAndWritten() {
        let lists: [(String, [Int]?)] = [
            ("0-1", [0, 1]), ("0,2-4,7", [0, 2, 3, 4, 7]), ("5", [5]), ("", nil), ("1-0", nil), ("-1", nil), ("a", nil),
            ("0-99999999999", nil),
        ]
        #expect(Processors.relevant == Processors.usableNumbers)
        #expect(lists.map { Processors.numbers(in: $0.0) } == lists.map(\.1))
        #expect(lists.prefix(4).map { Processors.list($0.1 ?? []) } == lists.prefix(4).map(\.0))
    }

    /// The governor of each processor that the process may use, nil if it is not shown.
    @Test(
        arguments: [
            (["performance", "performance"], "performance"),
            (["performance", "powersave"], "powersave on processor 1 of 2"),
            (["schedutil", "powersave", "powersave", "performance"], "powersave on processors 1-2 of 4"),
            (["powersave", nil], "powersave on processor 0 of 2"),
            (["strange", "powersave"], "strange on processor 0 of 2"),
            // Of the other one nothing is known.
            (["performance", nil], nil), ([nil, nil], nil), ([], nil),
        ] as [([String?], String?)]
    )
    func theWorstGovernorCounts(_ governors: [String?], _ expected: String?) {
        #expect(FrequencyGovernor.worst(of: Array(governors.indices)) { governors[$0] } == expected)
    }

    @Test func theDeepestIdleStateIsThatOfAllProcessors() {
        let (shallow, deep) = (IdleStates.State(name: "C1", exit: 2000), IdleStates.State(name: "C6", exit: 133_000))
        let cases: [([IdleStates.State?], String?)] = [
            ([shallow, deep], "C6 on processor 1 of 2"), ([deep, deep], "C6"), ([shallow, nil], nil), ([], nil),
        ]
        let found = cases.map { states, _ in IdleStates.deepest(of: Array(states.indices)) { states[$0] }?.name }
        #expect(found == cases.map(\.1))
    }

    @Test func coresAreSharedIfOneOfTheProcessorsHasASibling() {
        let cases: [(String?, [String?], Bool?)] = [
            ("0", [nil], false), ("1", ["0", "1"], false), ("1", ["0", "1-2"], true), ("1", [nil, nil], true),
            (nil, ["0,4", nil], true), (nil, ["0", nil], nil), (nil, [], nil), (nil, ["0", "1"], false),
        ]
        #expect(cases.map { Processors.shareCores(active: $0.0, siblings: $0.1) } == cases.map(\.2))
    }

    @Test func theDeepestIdleStateCounts() throws {
        let place = try TemporaryFolder()
        #expect(IdleStates.deepest(in: place.path) == nil)
        func write(_ text: String, to name: String) throws {
            try Data("\(text)\n".utf8).write(to: URL(filePath: "\(place.path)/\(name)"))
        }
        // The last one is no time that a processor could take.
        for (state, latency) in ["2", "133", "10", "4000000000"].enumerated() {
            let folder = "\(place.path)/state\(state)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try write(latency, to: "state\(state)/latency")
        }
        try write("C6", to: "state1/name")
        let deepest = IdleStates.deepest(in: place.path)
        #expect(deepest?.exit == 133_000 && deepest?.name == "C6")
        try write("1", to: "state1/disable")
        #expect(IdleStates.deepest(in: place.path)?.exit == 10_000)
    }

    @Test func pressureIsTheTotalOfSomePrograms() {
        let rest = "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        let some = "some avg10=1.00 avg60=0.00 avg300=0.00 total=9135887749\n" + rest
        let texts = [some, "", rest, "some avg10=1.00\n", "some total=-1\n", "some total=many\n"]
        #expect(texts.map(Pressure.waiting) == [9_135_887_749_000, nil, nil, nil, nil, nil])
    }

    /// Time of guests is a part of the first two numbers. One spinning program on the only usable processor of many is
    /// no small share of it.
    @Test func processorTimeIsThatOfTheLinesOfItsProcessors() throws {
        let text = "cpu  100 20 3 4000 500 60 7 80 90 10\ncpu0 1 0 0 0 0 0 0 1 0 0\ncpu1 2 0 0 0 0 0 0 2 0 0\nintr 5\n"
        let time = try #require(ProcessorTime(text))
        #expect([time.busy, time.stolen, time.total] == [1_900_000_000, 800_000_000, 47_700_000_000])
        let found = [[0], [1], [0, 1], [2]].map { ProcessorTime(text, of: $0)?.stolen }
        #expect(found == [10_000_000, 20_000_000, 30_000_000, nil])
        let others = ["", "cpu 1 2 3 4 5 6 7\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu a b c d e f g h\n"]
        #expect(others.filter { ProcessorTime($0) != nil } == [])
    }

    @Test func theLoadAverageIsThatOfTheLastMinuteAndTheDelayTheSecondOfThreeNumbers() {
        #expect(["1.84 0.78 0.99 1/94 8035\n", "", "none\n"].map(LoadAverage.lastMinute) == [1.84, nil, nil])
        // A kernel that does not count writes zeros.
        let delays = ["424111 49044 2\n", "", "1 2\n", "1 2 3 4\n", "1 x 3\n", "0 0 0\n", "9 0 1\n"]
            .map(RunDelay.nanoseconds)
        #expect(delays == [49_044, nil, nil, nil, nil, nil, 0])
    }

    /// A thread that has ended, one that goes on, a new one, and a new one with the number of one that has ended.
    @Test func theDelaySinceAnEarlierReadingIsThatOfTheLivingThreads() {
        let (early, late) = (RunDelay(["1": 900, "2": 10, "4": 50]), RunDelay(["2": 30, "3": 7, "4": 5]))
        #expect(late.since(early) == 32 && late.since(late) == 0)
    }

    @Test func theDelayIsThatOfTheOtherThreads() async throws {
        let (delay, own) = try await onOwnThread { (RunDelay.ofOtherThreads, ThreadList.callingThread) }
        let known = try #require(delay)
        let ofThreads = try #require(Mirror(reflecting: known).children.first?.value as? [String: UInt64])
        #expect(ofThreads[String(getpid())] != nil, "the main thread is another one")
        #expect(own.map { ofThreads[$0] == nil } == true)
    }
}

/// The limit of processor time in the files of control groups.
struct CPUQuotaTests {
    /// Groups and the files in their folder. The limit; whether there is none if none is shown; and whether no group
    /// above is hidden, as in a container: only the root of all groups has no type, in version 2, and is sane or not,
    /// in version 1.
    @Test(
        arguments: [
            ("", ["cgroup.controllers": ""], nil, false, false), ("0::/\n", [:], nil, false, false),
            ("0::/\n", ["cpu.max": "max 100000\n"], nil, false, false),
            ("0::/\n", ["cgroup.controllers": ""], nil, true, true),
            ("0::/\n", ["cgroup.controllers": "", "cgroup.type": ""], nil, true, false),
            ("0::/a\n", ["cgroup.controllers": "", "a/cpu.max": "max 100000\n"], nil, true, true),
            ("0::/a\n", ["cgroup.controllers": "", "a/cpu.max": "150000 100000\n"], 1.5, true, true),
            ("0::/../b\n", ["cgroup.controllers": ""], nil, true, false),
            // What cannot be understood may be a limit.
            ("0::/a\n", ["cgroup.controllers": "", "a/cpu.max": "many 100000\n"], nil, false, true),
            ("0::/a\n", ["cgroup.controllers": "", "a/cpu.max": "100000 0\n"], nil, false, true),
            ("0::/a\n", ["cgroup.controllers": "", "a/cpu.max": "\n"], nil, false, true),
            ("nonsense\n::\n0::\n", ["cpu.max": "1 two three\n"], nil, false, false),
            // A group above has a stricter limit.
            ("0::/a/b\n", ["a/b/cpu.max": "150000 100000\n", "a/cpu.max": "50000 100000\n"], 0.5, false, false),
            // A container does not have the host's path.
            ("0::/docker/12\n", ["cpu.max": "200000 100000\n"], 2, false, false),
            ("1:cpu:/\n", ["cpu/cgroup.procs": "1\n"], nil, true, false),
            ("3:memory:/x\n2:cpu,cpuacct:/x\n", quota("cpu,cpuacct", "25000"), 0.25, false, false),
            ("2:cpu:/x\n", quota("cpu", "-1"), nil, false, false),
            ("4:cpuset:/x\n", ["cpuset/x/cpu.max": "1 2\n"], nil, false, false),
            ("2:cpu,cpuacct:/\n0::/\n", ["cpu,cpuacct/cgroup.sane_behavior": ""], nil, false, true),
            ("2:cpu,cpuacct:/docker/12\n0::/\n", ["cpu,cpuacct/cgroup.procs": ""], nil, true, false),
        ] as [(String, [String: String], Double?, Bool, Bool)]
    )
    func theStrictestLimitCountsIfItIsShown(
        _ groups: String,
        _ files: [String: String],
        _ limit: Double?,
        _ isShown: Bool,
        _ isWhole: Bool
    ) {
        let quota = CPUQuota { path in
            if path == "/proc/self/cgroup" { return groups }
            return path.hasPrefix("/sys/fs/cgroup/") ? files[String(path.dropFirst(15))] : nil
        }
        #expect(quota.limit == limit && quota.isShown == isShown && quota.isWhole == isWhole)
    }

    private static func quota(_ controllers: String, _ quota: String) -> [String: String] {
        let folder = "\(controllers)/x/cpu.cfs_"
        return ["\(folder)quota_us": "\(quota)\n", "\(folder)period_us": "100000\n"]
    }

    /// In the folder of the group, or, in a container, at the root alone.
    @Test(
        arguments: [
            (["/runtime_us": "950000\n", "/a/runtime_us": "300000\n"], 30), (["/runtime_us": "950000\n"], 95),
            (["/runtime_us": "-1\n"], 100), (["/a/runtime_us": "0\n"], 0), ([:], nil), (["/runtime_us": "x\n"], nil),
        ] as [([String: String], Double?)]
    )
    func theStrictestGroupLimitsRealTimeThreads(_ files: [String: String], _ expected: Double?) {
        let share = RealTimeGroups.share { path in
            if path == "/proc/self/cgroup" { return "3:memory:/b\n2:cpu:/a\n0::/\n" }
            if path.hasSuffix("cpu.rt_period_us") { return "1000000\n" }
            return files[path.replacing("/sys/fs/cgroup/cpu", with: "").replacing("cpu.rt_", with: "")]
        }
        #expect(share == expected)
    }

    /// Both versions of control groups, of kernels 6.1 to 7.2.
    @Test func theAccountOfAQuotaIsInNanoseconds() {
        let first = "nr_periods 66\nnr_throttled 51\nthrottled_time 3902493002\nnr_bursts 0\nburst_time 0\n"
        let second = "usage_usec 2672925\nnice_usec 0\nnr_periods 532\nnr_throttled 531\nthrottled_usec 50315303\n"
        let texts = [
            first, second, "", "nr_periods 1\nnr_throttled 1\n", "nr_periods x\nnr_throttled 1\nthrottled_usec 1\n",
        ]
        let found = texts.map { Throttling($0) }
        let expected: [Throttling?] = [
            Throttling(periods: 66, stops: 51, nanoseconds: 3_902_493_002),
            Throttling(periods: 532, stops: 531, nanoseconds: 50_315_303_000), nil, nil, nil,
        ]
        #expect(found == expected)
    }

    @Test func eachGroupWithALimitHasAnAccount() throws {
        let folder = "/sys/fs/cgroup"
        let files = [
            "/proc/self/cgroup": "0::/a/b\n", "\(folder)/cgroup.controllers": "",
            "\(folder)/a/cpu.max": "5000 100000\n",
            "\(folder)/a/b/cpu.max": "max 100000\n",
            "\(folder)/a/cpu.stat": "nr_periods 2\nnr_throttled 1\nthrottled_usec 3\n",
        ]
        let quota = CPUQuota { files[$0] }
        #expect(quota.groups.map(\.limit) == [0.05] && quota.groups.map(\.account) == ["\(folder)/a/cpu.stat"])
        #expect(quota.accounts { files[$0] } == [Throttling(periods: 2, stops: 1, nanoseconds: 3000)])
        #expect(quota.accounts { _ in nil } == [nil])
        #expect(ThrottlingReader(quota).accounts == [nil], "there is no such file here")
        let (early, later) = (Throttling(periods: 2, stops: 1, nanoseconds: 9), quota.accounts { files[$0] }[0])
        #expect(later?.since(early)?.nanoseconds == 2991 && later.map { early.since($0) } == .some(nil))
    }
}
#endif
