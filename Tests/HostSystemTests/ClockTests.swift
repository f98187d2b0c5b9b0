import HostSystem
import TestSupport
import Testing

/// Clocks, sleeps and the bare timer.
struct ClockTests {
    @Test(arguments: [SystemClock.monotonic, .boottime, .realtime])
    func sleepsAndTimersAreNeverEarly(_ clock: SystemClock) throws {
        let timer = try BareTimer(clock)
        for _ in 0..<5 {
            let sleep = clock.nanoseconds + 1_000_000
            clock.sleep(until: sleep)
            #expect(clock.nanoseconds >= sleep)
            let wait = clock.nanoseconds + 1_000_000
            timer.wait(until: wait)
            #expect(clock.nanoseconds >= wait)
        }
        // Instants that have passed.
        clock.sleep(until: 0)
        timer.wait(until: 0)
    }

    @Test func aThreadHasItsNameAndAccount() async throws {
        let (thread, isOver) = (Box<KernelThread>(), StopFlag())
        try KernelThread.start("test.account") {
            thread.value = .current
            while !isOver.isSet { SystemClock.sleep(for: .milliseconds(1)) }
        }
        #expect(await soon { thread.value != nil })
        let kernelThread = try #require(thread.value)
        #expect(ProcFS.threads(named: "test.account").count == 1)
        let usage = try #require(kernelThread.usage)
        #expect(usage.cpuNanoseconds > 0)
        isOver.set()
        #expect(await soon { kernelThread.usage == nil && kernelThread.isAsleep })
    }

    @Test func theProcessHasProcessors() throws {
        #expect((1...Processors.online).contains(try #require(Processors.usable)))
    }
}
