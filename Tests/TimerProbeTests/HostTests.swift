import Testing
import TimerProbe
import TimerResults

/// The facts of this machine.
struct HostTests {
    @Test func aVirtualMachineIsKnownByItsFlag() {
        #expect(Host.isGuest(in: "processor : 0\nflags : fpu hypervisor lahf\n") == true)
        #expect(Host.isGuest(in: "flags : fpu\n") == false)
        #expect(Host.isGuest(in: "Features : fp\n") == nil)
    }

    @Test func theModelIsTheFirstOneNamed() {
        let text = "processor : 0\nmodel name\nmodel name :\nmodel name\t:  A  CPU @ 2.1 GHz\nmodel name : B\n"
        #expect(Host.cpuModel(in: text) == "A CPU @ 2.1 GHz")
        #expect(Host.cpuModel(in: "processor : 0\n") == nil)
    }

    @Test func thisMachineHasFacts() throws {
        let host = Host.current
        #expect((1...host.processors).contains(try #require(host.usableProcessors)))
        let price = try #require(host.clockRead)
        #expect(price > 1 && price < 100_000)
        #expect(host.clockSource?.isEmpty == false)
    }
}
