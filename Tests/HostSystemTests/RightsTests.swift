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
