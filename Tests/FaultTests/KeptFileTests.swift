import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// What services keep open for the checks of their alarms.
@Suite(.waits("services open and close files of /proc"), .timeLimit(.minutes(60))) struct KeptFileTests {
    /// The descriptors on files of threads in /proc, with the names of the files.
    private static var descriptors: [(number: CInt, file: String)] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return entries.compactMap { entry in
            let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(entry)")) ?? ""
            let file = link.split(separator: "/").last.map(String.init) ?? ""
            return link.contains("/task") ? CInt(entry).map { ($0, file) } : nil
        }
    }

    /// The files of these descriptors, in order.
    private static var kept: [String] {
        descriptors.map { $0.file + (fcntl($0.number, F_GETFD) & FD_CLOEXEC == 0 ? " inherited" : "") }.sorted()
    }

    /// Waits until these files are kept. Dispatch may read others for a moment.
    private static func keeps(_ files: [String]) -> Bool { eventually { kept == files } }

    @Test func aServiceKeepsTheFileOfItsThreadAndTheProcessOneFolderUntilTheServiceEnds() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            for _ in 0..<3 {
                let services = try (0..<10).map { _ in try TimerService(.timerFD) }
                #expect(Self.keeps(Array(repeating: "stat", count: 10) + ["task"]))
                for service in services { service.shutdown() }
                #expect(Self.keeps(["task"]))
            }
            let host = try TimerService.pollable()
            #expect(Self.keeps(["task"]), "a host's loop is not checked")
            withExtendedLifetime(host) {}
        }
    }

    /// The others are for the program, and for libraries that end it without them.
    @Test func aServiceLeavesTheLastTwoDescriptors() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            DispatchDescriptors.open()
            let free = (0..<CInt.max).lazy.filter { fcntl($0, F_GETFD) == -1 }.prefix(4)
            Limit.descriptors.set(UInt64(free.reduce(0) { max($0, $1) }))
            let service = try TimerService(.timerFD)
            // Another thread of the process may have one for a moment.
            let leavesTwo = eventually {
                let others = (0..<2).map { _ in unsafe open("/", O_RDONLY) }
                for number in others { close(number) }
                return others.allSatisfy { $0 >= 0 }
            }
            Limit.descriptors.set(1_000)
            #expect(leavesTwo)
            withExtendedLifetime(service) {}
        }
    }

    /// A part of the program takes numbers that are not its own for files of its own.
    @Test func aFileThatGetsTheNumberOfAKeptOneIsNotClosedAndTheStateIsReadAnew() async {
        await #expect(processExitsWith: .success) {
            endIfHung()
            let (setup, threads) = (ThreadSetup(), ThreadList())
            let (mayEnd, isOver) = (Gate(), Gate())
            try setup.startThread("test.sleeper") {
                mayEnd.pass()
                isOver.open()
            }
            threads.keep()
            setup.keepState(among: threads)
            #expect(Self.keeps(["stat", "task"]))
            let zero = unsafe open("/dev/zero", O_RDONLY)
            let numbers = Self.descriptors.map(\.number)
            #expect(numbers.count >= 2 && numbers.allSatisfy { dup2(zero, $0) == $0 })
            #expect(eventually { setup.holdUp(among: threads) == nil })
            mayEnd.open()
            isOver.pass()
            #expect(eventually { setup.holdUp(among: threads) == .unknown }, "the thread has ended")
            #expect(numbers.allSatisfy { fcntl($0, F_GETFD) != -1 })
        }
    }
}
