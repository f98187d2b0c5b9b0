#if Instrument && DEBUG
import Testing

@testable import BackendComparison

/// The limit of processor time in the files of control groups.
struct CPUQuotaTests {
    /// Groups, the files in the folder of control groups, and the limit.
    @Test(
        arguments: [
            ("0::/\n", [:], nil), ("0::/\n", ["cpu.max": "max 100000\n"], nil),
            ("0::/a/b\n", ["a/b/cpu.max": "150000 100000\n"], 1.5),
            // A group above has a stricter limit.
            ("0::/a/b\n", ["a/b/cpu.max": "150000 100000\n", "a/cpu.max": "50000 100000\n"], 0.5),
            // A container does not have the host's path.
            ("0::/docker/12\n", ["cpu.max": "200000 100000\n"], 2),
            ("3:memory:/x\n2:cpu,cpuacct:/x\n", quota("cpu,cpuacct", "25000"), 0.25),
            ("2:cpu:/x\n", quota("cpu", "-1"), nil), ("4:cpuset:/x\n", ["cpuset/x/cpu.max": "1 2\n"], nil),
            ("nonsense\n::\n0::\n", ["cpu.max": "1 two three\n"], nil),
            ("0::/\n", ["cpu.max": "100000 0\n"], nil),
        ] as [(String, [String: String], Double?)]
    )
    func theStrictestLimitCounts(_ groups: String, _ files: [String: String], _ expected: Double?) {
        let quota = CPUQuota { path in
            if path == "/proc/self/cgroup" { return groups }
            return path.hasPrefix("/sys/fs/cgroup/") ? files[String(path.dropFirst(15))] : nil
        }
        #expect(quota.limit == expected)
    }

    private static func quota(_ controllers: String, _ quota: String) -> [String: String] {
        let folder = "\(controllers)/x/cpu.cfs_"
        return ["\(folder)quota_us": "\(quota)\n", "\(folder)period_us": "100000\n"]
    }

    @Test(
        arguments: [
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.controllers": ""], true),
            (["/proc/self/cgroup": "1:cpu:/\n", "/sys/fs/cgroup/cpu/cgroup.procs": "1\n"], true),
            (["/proc/self/cgroup": "0::/\n"], false), ([:], false),
            (["/proc/self/cgroup": "", "/sys/fs/cgroup/cgroup.controllers": ""], false), (second("max 100000\n"), true),
            (second("150000 100000\n"), true),
            // What cannot be understood may be a limit.
            (second("many 100000\n"), false), (second("100000 0\n"), false), (second("\n"), false),
        ] as [([String: String], Bool)]
    )
    func noLimitIsKnownOnlyIfBothTheGroupsAndTheirFilesAreShown(_ files: [String: String], _ expected: Bool) {
        #expect(CPUQuota { files[$0] }.isShown == expected)
    }

    /// Only the root of all groups has no type, in version 2, and is sane or not, in version 1.
    @Test(
        arguments: [
            ("0::/\n", ["cgroup.controllers"], true), ("0::/\n", ["cgroup.controllers", "cgroup.type"], false),
            ("0::/a\n", ["cgroup.controllers"], true), ("0::/../b\n", ["cgroup.controllers"], false),
            ("2:cpu,cpuacct:/\n0::/\n", ["cpu,cpuacct/cgroup.sane_behavior"], true),
            ("2:cpu,cpuacct:/docker/12\n0::/\n", ["cpu,cpuacct/cgroup.procs"], false),
            ("0::/\n", [], false), ("", [], false),
        ] as [(String, [String], Bool)]
    )
    func aContainerHidesTheGroupsAboveIt(_ groups: String, _ files: [String], _ expected: Bool) {
        let quota = CPUQuota { path in
            path == "/proc/self/cgroup" ? groups : files.contains { path == "/sys/fs/cgroup/\($0)" } ? "" : nil
        }
        #expect(quota.isWhole == expected)
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

    private static func second(_ limit: String) -> [String: String] {
        [
            "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/cgroup.controllers": "cpu\n",
            "/sys/fs/cgroup/a/cpu.max": limit,
        ]
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
        let (early, late) = (
            Throttling(periods: 2, stops: 1, nanoseconds: 3000), Throttling(periods: 5, stops: 2, nanoseconds: 9000)
        )
        #expect(late.since(early) == Throttling(periods: 3, stops: 1, nanoseconds: 6000))
        #expect(early.since(late) == nil)
    }
}
#endif
