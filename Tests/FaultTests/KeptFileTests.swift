import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// What services keep open for the checks of their alarms.
@Suite(.waits("services open and close files of /proc"), .timeLimit(.minutes(60))) struct KeptFileTests {
    /// The descriptors on files of /proc, with the flags of proc_pid_fdinfo(5).
    private static var kept: [String] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return entries.compactMap { entry in
            let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(entry)")) ?? ""
            let info = (try? String(contentsOfFile: "/proc/self/fdinfo/\(entry)", encoding: .utf8)) ?? ""
            guard link.contains("/task"),
                let flags = info.split(separator: "\n").first(where: { $0.hasPrefix("flags") })
            else { return nil }
            let isInherited = (flags.split(separator: "\t").last.flatMap { Int($0, radix: 8) } ?? 0) & 0o2_000_000 == 0
            return (link.split(separator: "/").last.map(String.init) ?? "") + (isInherited ? " inherited" : "")
        }
    }

    @Test func aServiceKeepsTheFileOfItsThreadAndTheProcessOneFolderUntilTheServiceEnds() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            for _ in 0..<3 {
                let services = try (0..<10).map { _ in try TimerService(.timerFD) }
                #expect(Self.kept.sorted() == Array(repeating: "stat", count: 10) + ["task"])
                for service in services { service.shutdown() }
                #expect(eventually { Self.kept == ["task"] })
            }
            let host = try TimerService.pollable()
            #expect(Self.kept == ["task"], "a host's loop is not checked")
            withExtendedLifetime(host) {}
        }
    }

    /// The others are for the program, and for libraries that end it without them.
    @Test func aServiceKeepsNoneOfTheLastDescriptors() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            DispatchDescriptors.open()
            let free = (0..<CInt.max).lazy.filter { fcntl($0, F_GETFD) == -1 }.prefix(4)
            Limit.descriptors.set(UInt64(free.reduce(0) { max($0, $1) }))
            let service = try TimerService(.timerFD)
            let others = (0..<2).map { _ in unsafe open("/", O_RDONLY) }
            #expect(others.allSatisfy { $0 >= 0 })
            Limit.descriptors.set(1_000)
            #expect(Self.kept == [])
            withExtendedLifetime(service) {}
        }
    }

    /// A part of the program closes descriptors that are not its own, and opens files that get their numbers.
    @Test func aFileThatGetsTheNumberOfAKeptOneIsNotClosedAndTheStateIsReadAnew() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (setup, threads) = (ThreadSetup(), ThreadList())
            let (mayEnd, isOver) = (Gate(), Gate())
            let before = Set((3..<100 as Range<CInt>).filter { fcntl($0, F_GETFD) != -1 })
            try setup.startThread("test.sleeper") {
                mayEnd.pass()
                isOver.open()
            }
            threads.keep()
            setup.keepState(among: threads)
            let own = (3..<100 as Range<CInt>).filter { fcntl($0, F_GETFD) != -1 && !before.contains($0) }
            #expect(own.count == 2)
            for number in own { close(number) }
            let files = own.map { _ in unsafe open("/dev/zero", O_RDONLY) }
            #expect(files == own)
            #expect(eventually { setup.holdUp(among: threads) == nil })
            mayEnd.open()
            isOver.pass()
            #expect(eventually { setup.holdUp(among: threads) == .unknown }, "the thread has ended")
            #expect(files.allSatisfy { fcntl($0, F_GETFD) != -1 })
        }
    }
}
