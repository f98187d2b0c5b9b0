import Foundation
import Glibc
import HostSystem
import TestSupport
import Testing

/// Files for input and results.
struct FileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "host-system-\(UUID().uuidString)").path

    @Test func textReplacesTheContentAndFollowsTheTextBefore() throws {
        try OutputFile.createFolder(folder)
        try OutputFile.createFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = try OutputFile("\(folder)/file")
        try file.replace(with: String(repeating: "long ", count: 100_000))
        #expect(try InputFile.read(file.path).count == 500_000)
        try file.replace(with: "short")
        try file.append(" text")
        #expect(try InputFile.read(file.path) == Array("short text".utf8))
        #expect(ProcFile.text(file.path) == "short text")
    }

    @Test func aFileComesIntoBeingWithItsFirstText() throws {
        try OutputFile.createFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = try OutputFile("\(folder)/new")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        try file.append("text")
        // A file that exists keeps its content until there is another.
        _ = try OutputFile(file.path)
        #expect(ProcFile.text(file.path) == "text")
        try OutputFile(file.path).appendAtEnd(", and more")
        #expect(ProcFile.text(file.path) == "text, and more")
    }

    @Test func aFileThatCouldNotBeCreatedIsAnErrorAtOnce() {
        for path in ["", "/nowhere/file", "/proc/file", "\(folder)/file"] {
            #expect(throws: SystemError.self) { try OutputFile(path) }
        }
    }

    @Test func namesOfOneFileAreTheSame() throws {
        try OutputFile.createFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(OutputFile.isSame("\(folder)/a", "\(folder)/./a"))
        #expect(OutputFile.isSame("a", "./a"))
        #expect(!OutputFile.isSame("\(folder)/a", "\(folder)/b"))
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: folder)
        #expect(OutputFile.isSame("\(folder)/a", "\(folder)/link/a"))
        #expect(!OutputFile.isSame("/nowhere/a", "/nowhere/b"))
    }

    @Test func aNameThatEndsInASlashIsNotAFile() throws {
        try OutputFile.createFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(throws: SystemError.self) { try OutputFile("\(folder)/new/") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func aDeviceCanBeWrittenTo() throws { try OutputFile("/dev/null").replace(with: "text") }

    @Test func aFullDeviceIsAnError() throws {
        let error = #expect(throws: SystemError.self) { try OutputFile("/dev/full").replace(with: "text") }
        #expect(error?.description == "writing to /dev/full: No space left on device (errno 28)")
    }

    @Test func missingFilesAndFoldersAreErrors() {
        let error = #expect(throws: SystemError.self) { try InputFile.read("/nowhere/nothing") }
        #expect(error?.description == "reading /nowhere/nothing: No such file or directory (errno 2)")
        #expect(throws: SystemError.self) { try OutputFile("/nowhere/nothing") }
        #expect(throws: SystemError.self) { try OutputFile.createFolder("/nowhere/nothing") }
        #expect(throws: SystemError.self) { try OutputFile.createFolder("/dev/null") }
        #expect(ProcFile.text("/nowhere/nothing") == nil)
    }

    @Test func tooFewDescriptorsAreAnErrorAndNoneStaysOpen() async {
        // In its own process, whose descriptors no other test needs. The process may open other files meanwhile.
        await #expect(processExitsWith: .success) {
            // Dispatch opens its own for its first wait, and ends the process if it cannot.
            try await Task.sleep(for: .milliseconds(1))
            Self.limitDescriptors(to: 500)
            let before = ProcFS.openDescriptors(on: "/dev/null")
            try Descriptors.check(10, for: "a test")
            #expect(throws: SystemError.self) { try Descriptors.check(10_000_000, for: "a test") }
            #expect(ProcFS.openDescriptors(on: "/dev/null") == before)
        }
    }

    private static func limitDescriptors(to number: Int) {
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(rlim_t(number), limit.rlim_max)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
