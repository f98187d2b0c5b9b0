import Glibc
import HostSystem
import Testing

/// What the kernel allows this process.
struct RightsTests {
    @Test func rightsAreBitsOfOneLine() {
        let text = "Name:\ttest\nCapPrm:\t000001ffffffffff\nCapEff:\t"
        for right in [Capability.lockMemory, .setPriority] {
            #expect(right.isHeld(in: text + "0000000000804000\n") == true)
            #expect(right.isHeld(in: text + "00000000007fbfff\n") == false)
            for other in ["", "\n", "much\n", "1\t2\n", "10000000000000000\n"] {
                #expect(right.isHeld(in: text + other) == nil, "\(other)")
            }
            #expect(right.isHeld != nil)
        }
    }

    @Test func aDeviceIsAllowedRefusedOrMissing() {
        #expect(IdleControl.isWritable("/dev/null") == true)
        #expect(IdleControl.isWritable("/nowhere/nothing") == nil)
        // A folder cannot be written to, even by root.
        #expect(IdleControl.isWritable("/proc") == false)
    }

    @Test func limitsAreThoseOfTheProcess() async {
        #expect(ResourceLimit.realTimePriority.current != nil)
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 4096, rlim_max: 8192)
            _ = unsafe setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
            #expect(ResourceLimit.lockedMemory.current == 4096)
        }
    }

    @Test func aRealTimePriorityTakesARightOrALimit() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            _ = unsafe setrlimit(__rlimit_resource_t(__RLIMIT_RTPRIO.rawValue), &limit)
            // The right does not survive this.
            if getuid() == 0 { setuid(65534) }
            #expect(!RealTime.isAllowed)
        }
    }
}
