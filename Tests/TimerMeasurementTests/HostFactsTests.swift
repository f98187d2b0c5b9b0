import FoundationEssentials
import Testing
import TimerMeasurement

/// The facts of the machine that figures depend on.
struct HostFactsTests {
    @Test(
        arguments: [
            ("0::/\n", [:], nil), ("0::/\n", ["/sys/fs/cgroup/cpu.max": "max 100000\n"], nil),
            ("0::/a/b\n", ["/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"], 1.5),
            // Whoever is above limits, too.
            (
                "0::/a/b\n",
                ["/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n", "/sys/fs/cgroup/a/cpu.max": "50000 100000\n"], 0.5
            ),
            // Inside of a container the path is not there.
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
    func theLimitOfTheControlGroupIsTheStrictest(_ groups: String, _ files: [String: String], _ expected: Double?) {
        #expect(CPUQuota.find(groups: groups) { files[$0] } == expected)
    }

    @Test
    func aGuestIsKnownByItsFlag() {
        #expect(Host.isGuest(in: "processor : 0\nflags : fpu hypervisor lahf\n") == true)
        #expect(Host.isGuest(in: "flags : fpu\n") == false)
        #expect(Host.isGuest(in: "Features : fp\n") == nil)
    }

    @Test
    func thisMachineHasFacts() throws {
        let host = Host.current
        let usable = try #require(host.usableProcessors)
        #expect((1...host.processors).contains(usable))
        let price = try #require(host.clockRead)
        #expect(price > 1 && price < 100_000)
        #expect(host.clockSource?.isEmpty == false)
    }

    @Test
    func factsThatAnOlderFileLacksAreUnknown() throws {
        let text = #"{"os":"Linux","kernel_release":"6.1","machine":"x","processors_online":2,"build":"release"}"#
        let host = try JSONDecoder().decode(Host.self, from: Data(text.utf8))
        #expect(host.clockSource == nil && host.cpuQuota == nil && host.usableProcessors == nil)
        #expect(host.summary == "Linux 6.1 x, 2 processors, release build")
    }
}
