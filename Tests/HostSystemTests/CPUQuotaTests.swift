import HostSystem
import Testing

/// The limit of processor time in the files of control groups.
struct CPUQuotaTests {
    @Test(
        arguments: [
            ("0::/\n", [:], nil), ("0::/\n", ["/sys/fs/cgroup/cpu.max": "max 100000\n"], nil),
            ("0::/a/b\n", ["/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"], 1.5),
            // A group above has a stricter limit.
            (
                "0::/a/b\n",
                ["/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n", "/sys/fs/cgroup/a/cpu.max": "50000 100000\n"], 0.5
            ),
            // A container does not have the host's path.
            ("0::/docker/12\n", ["/sys/fs/cgroup/cpu.max": "200000 100000\n"], 2),
            (
                "3:memory:/x\n2:cpu,cpuacct:/x\n",
                [
                    "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "25000\n",
                    "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
                ], 0.25
            ),
            (
                "2:cpu:/x\n",
                [
                    "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1\n",
                    "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
                ],
                nil
            ),
            ("4:cpuset:/x\n", ["/sys/fs/cgroup/cpuset/x/cpu.max": "1 2\n"], nil),
            ("nonsense\n::\n0::\n", ["/sys/fs/cgroup/cpu.max": "1 two three\n"], nil),
            ("0::/\n", ["/sys/fs/cgroup/cpu.max": "100000 0\n"], nil),
        ] as [(String, [String: String], Double?)]
    )
    func theStrictestLimitCounts(_ groups: String, _ files: [String: String], _ expected: Double?) {
        #expect(CPUQuota.find(groups: groups) { files[$0] } == expected)
    }

    @Test(
        arguments: [
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.controllers": ""], true),
            (["/proc/self/cgroup": "1:cpu:/\n", "/sys/fs/cgroup/cpu/cgroup.procs": "1\n"], true),
            (["/proc/self/cgroup": "0::/\n"], false), ([:], false),
            (["/proc/self/cgroup": "", "/sys/fs/cgroup/cgroup.controllers": ""], false),
        ] as [([String: String], Bool)]
    )
    func noLimitIsKnownOnlyIfBothTheGroupsAndTheirFilesAreShown(_ files: [String: String], _ expected: Bool) {
        #expect(CPUQuota.isShown { files[$0] } == expected)
    }
}
