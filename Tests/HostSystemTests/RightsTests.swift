import Foundation
import Glibc
import HostSystem
import Testing

/// What the kernel allows this process.
struct RightsTests {
    @Test func rightsAreBitsOfOneLine() throws {
        let text = "Name:\ttest\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000804000\n"
        let some = try #require(Capabilities(status: text))
        #expect(some.has(.lockMemory) && some.has(.setPriority))
        let other = try #require(Capabilities(status: "CapEff:\t00000000007fbfff\n"))
        #expect(!other.has(.lockMemory) && !other.has(.setPriority))
    }

    @Test(
        arguments: [
            "", "Name:\ttest\n", "CapEff:\n", "CapEff:\tmuch\n", "CapEff:\t1\t2\n", "CapEff:\t10000000000000000\n",
        ]
    )
    func otherTextsShowNoRights(_ text: String) {
        #expect(Capabilities(status: text) == nil)
    }

    @Test func aDeviceIsAllowedRefusedOrMissing() {
        #expect(IdleControl.trying("/dev/null") == .allowed)
        #expect(IdleControl.trying("/nowhere/nothing") == .missing)
        // A folder cannot be written to, even by root.
        #expect(IdleControl.trying("/proc") == .refused)
    }

    @Test func limitsAreThoseOfTheProcess() async {
        #expect(ResourceLimit.realTimePriority.current != nil)
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 4096, rlim_max: 8192)
            _ = unsafe setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
            #expect(ResourceLimit.lockedMemory.current == 4096)
        }
    }

    @Test func theShareOfStolenTimeIsThatOfAllTime() throws {
        let start = StealTime(stolen: 10, total: 1000)
        #expect(start.percent() == 1)
        #expect(StealTime(stolen: 30, total: 1200).percent(since: start) == 10)
        #expect(start.percent(since: start) == nil)
        let (few, many) = (StealTime(stolen: 2, total: 0), StealTime(stolen: 5, total: 0))
        let none = StealTime(stolen: 0, total: 0)
        #expect(few.percentOfOneProcessor(since: none, in: 500_000_000) == 0)
        #expect(many.percentOfOneProcessor(since: none, in: 500_000_000) == 10)
        #expect(none.percentOfOneProcessor(since: many, in: 500_000_000) == nil)
        #expect(StealTime(stolen: 0, total: 0).percent() == nil)
        // A counter that went back, as it may after a migration.
        #expect(StealTime(stolen: 5, total: 1200).percent(since: start) == nil)
    }
}

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
