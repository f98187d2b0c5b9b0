#if Instrument && DEBUG
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BackendComparison
@testable import compare_backends

/// Files for results.
struct OutputFileTests {
    private let place: TemporaryFolder
    private var folder: String { place.path }
    private var path: String { "\(folder)/file" }
    private var text: String { get throws { try String(contentsOfFile: path, encoding: .utf8) } }
    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    init() throws { place = try TemporaryFolder() }

    @Test func textReplacesTheContentAndFollowsTheTextBefore() throws {
        let file = try OutputFile(path)
        try file.replace(with: String(repeating: "long ", count: 100_000))
        #expect(try text.utf8.count == 500_000)
        try file.replace(with: "short")
        try file.append(" text")
        try file.append(".")
        #expect(try text == "short text.")
        #expect(names == ["file"])
    }

    @Test func aFileComesIntoBeingWithItsFirstText() throws {
        let file = try OutputFile(path)
        #expect(names.isEmpty)
        try file.append("text")
        // A file that exists keeps its content until there is another.
        _ = try OutputFile(path)
        #expect(try text == "text")
    }

    @Test func aLinkAndTheModeOfItsGoalAreKept() throws {
        let link = "\(folder)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")
        // The goal does not exist yet.
        try OutputFile(link).replace(with: "first")
        #expect(unsafe chmod(path, 0o640) == 0)
        try OutputFile(link).replace(with: "second")
        #expect(try text == "second")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "file")
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o640)
    }

    @Test func aPipeIsWrittenDirectly() throws {
        let pipe = Pipe()
        let file = try OutputFile("/dev/fd/\(pipe.fileHandleForWriting.fileDescriptor)")
        try file.replace(with: "text")
        try file.append(" and more")
        #expect(pipe.fileHandleForReading.availableData == Data("text and more".utf8))
    }
}

/// Signals that ask a command to end. Each test has its own process.
struct InterruptTests {
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func theFirstSignalIsARequestAndTheSecondEndsTheProcess(_ number: Int32) async {
        await #expect(processExitsWith: .signal(number)) { [number] in
            Interrupt.watch()
            #expect(Interrupt.signal == nil)
            raise(number)
            #expect(Interrupt.signal == number)
            raise(number)
        }
    }

    /// Signals are unblocked, an ignored one stays ignored, and the first of the others is kept.
    @Test func theFirstOfSeveralSignalsIsKept() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            var all = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_SETMASK, &all, nil)
            Interrupt.watch()
            for number in [SIGHUP, SIGHUP, SIGTERM, SIGINT] { raise(number) }
            #expect(Interrupt.signal == SIGTERM)
        }
    }
}
#endif
