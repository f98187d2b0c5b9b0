import Foundation
import HostSystem
import TestSupport
import Testing

/// Processors, and the load that other programs make.
struct MachineTests {
    @Test func theProcessHasProcessors() throws {
        #expect((1...Processors.online).contains(try #require(Processors.usable)))
    }

    @Test func theDeepestIdleStateCounts() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "idle-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(IdleStates.deepest(in: folder.path) == nil)
        // The last one is no time that a processor could take.
        for (state, latency) in ["2\n", "133\n", "10\n", "4000000000\n"].enumerated() {
            let path = folder.appending(path: "state\(state)")
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
            try Data(latency.utf8).write(to: path.appending(path: "latency"))
        }
        try Data("C6\n".utf8).write(to: folder.appending(path: "state1/name"))
        let deepest = IdleStates.deepest(in: folder.path)
        #expect(deepest?.exit == 133_000 && deepest?.name == "C6")
        try Data("1\n".utf8).write(to: folder.appending(path: "state1/disable"))
        #expect(IdleStates.deepest(in: folder.path)?.exit == 10_000)
    }

    @Test func pressureIsTheTotalOfSomePrograms() {
        let rest = "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        let some = "some avg10=1.00 avg60=0.00 avg300=0.00 total=9135887749\n" + rest
        let texts = [some, "", rest, "some avg10=1.00\n", "some total=-1\n", "some total=many\n"]
        #expect(texts.map { Pressure($0)?.waiting } == [9_135_887_749_000, nil, nil, nil, nil, nil])
    }

    @Test func processorTimeIsThatOfTheFirstLine() throws {
        // Time of guests is a part of the first two numbers.
        let text = "cpu  100 20 3 4000 500 60 7 80 90 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
        let time = try #require(ProcessorTime(text))
        #expect([time.busy, time.stolen, time.total] == [1_900_000_000, 800_000_000, 47_700_000_000])
        let others = ["", "cpu 1 2 3 4 5 6 7\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu a b c d e f g h\n"]
        #expect(others.filter { ProcessorTime($0) != nil } == [])
    }

    /// Two hundredths of a second may be rounding, and counters may go back after a migration.
    @Test func theShareOfStolenTimeIsThatSinceAnEarlierReading() {
        let start = ProcessorTime(busy: 0, stolen: 100_000_000, total: 10_000_000_000)
        let readings: [(UInt64, UInt64, UInt64?)] = [
            (110, 2000, nil), (60, 2000, nil), (60, 2000, 500_000_000), (12, 2000, nil), (5, 2000, nil),
            (100, 1000, nil),
        ]
        let shares = readings.map { stolen, total, wanted in
            ProcessorTime(busy: 0, stolen: stolen * 10_000_000, total: total * 10_000_000)
                .stolenPercent(since: start, of: wanted).map { ($0 * 1000).rounded() / 1000 }
        }
        #expect(shares == [10, 5, 100, 0, nil, nil])
    }

    @Test func theLoadAverageIsThatOfTheLastMinuteAndTheDelayTheSecondOfThreeNumbers() {
        #expect(["1.84 0.78 0.99 1/94 8035\n", "", "none\n"].map(LoadAverage.lastMinute) == [1.84, nil, nil])
        let delays = ["424111 49044 2\n", "", "1 2\n", "1 2 3 4\n", "1 x 3\n"].map(RunDelay.nanoseconds)
        #expect(delays == [49_044, nil, nil, nil, nil])
    }

    @Test func thisMachineHasALoad() throws {
        let before = try #require(ProcessorTime.current)
        #expect(before.busy > 0 && before.busy < before.total)
        #expect(try #require(LoadAverage.current) >= 0)
        // The kernel's own count of this process's work.
        let start = Reading.threadSeconds
        while Reading.threadSeconds < start + 0.1 {}
        #expect(try #require(ProcessorTime.current).busy >= before.busy + 50_000_000)
    }

    @Test func theDelayIsThatOfTheOtherThreads() async {
        // In its own process, which has no other busy thread.
        await #expect(processExitsWith: .success) {
            var others: [Shell] = []
            for _ in 0..<(Processors.usable ?? 1) { others.append(try Shell()) }
            let before = (own: try #require(ThreadAccount.current).waiting, others: RunDelay.ofOtherThreads)
            let (delay, isOver) = (Box<UInt64>(), StopFlag())
            try KernelThread.start("test.delay") {
                while !isOver.isSet { delay.value = ThreadAccount.current?.waiting }
            }
            // This thread sleeps. The other one waits for its processor again and again.
            while delay.value ?? 0 < 50_000_000 { SystemClock.sleep(for: .milliseconds(5)) }
            #expect(RunDelay.ofOtherThreads - before.others >= 50_000_000)
            isOver.set()
            SystemClock.sleep(for: .milliseconds(50))
            // Now this thread is the one that waits.
            let rest = RunDelay.ofOtherThreads
            while try #require(ThreadAccount.current).waiting < before.own + 100_000_000 {}
            #expect(RunDelay.ofOtherThreads < rest + 50_000_000)
            _ = others
        }
    }

    /// A program that wants a processor.
    private final class Shell {
        let child: ChildProcess

        init() throws { child = try ChildProcess("/bin/sh", ["-c", "while :; do :; done"]) }
    }
}

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
        let found = CPUQuota.find(groups: groups) { path in
            path.hasPrefix("/sys/fs/cgroup/") ? files[String(path.dropFirst(15))] : nil
        }
        #expect(found == expected)
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
            (["/proc/self/cgroup": "", "/sys/fs/cgroup/cgroup.controllers": ""], false),
        ] as [([String: String], Bool)]
    )
    func noLimitIsKnownOnlyIfBothTheGroupsAndTheirFilesAreShown(_ files: [String: String], _ expected: Bool) {
        #expect(CPUQuota.isShown { files[$0] } == expected)
    }
}
