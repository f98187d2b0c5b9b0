import FoundationEssentials
import Testing
import TimerResults

struct HostTests {
    @Test
    func factsMissingInAnOlderFileAreUnknown() throws {
        let text = #"{"os":"Linux","kernel_release":"6.1","machine":"x","processors_online":2,"build":"release"}"#
        let host = try JSONDecoder().decode(Host.self, from: Data(text.utf8))
        #expect(host.clockSource == nil && host.cpuQuota == nil && host.usableProcessors == nil)
        #expect(host.summary == "Linux 6.1 x, 2 processors, release build")
    }
}
