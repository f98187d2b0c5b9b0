import Foundation
import Glibc
import HostSystem
import TestSupport
import Testing

/// Files for input and results.
struct FileTests {
    private let place: TemporaryFolder
    private var folder: String { place.path }
    private var path: String { "\(folder)/file" }
    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    init() throws { place = try TemporaryFolder() }

    @Test func textReplacesTheContentAndFollowsTheTextBefore() throws {
        let file = try OutputFile(path)
        try file.replace(with: String(repeating: "long ", count: 100_000))
        #expect(try InputFile.read(path).count == 500_000)
        try file.replace(with: "short")
        try file.append(" text")
        try file.append(".")
        #expect(ProcFile.text(path) == "short text.")
        #expect(names == ["file"])
    }

    @Test func aFileComesIntoBeingWithItsFirstText() throws {
        let file = try OutputFile(path)
        #expect(names.isEmpty)
        try file.append("text")
        // A file that exists keeps its content until there is another.
        _ = try OutputFile(path)
        #expect(ProcFile.text(path) == "text")
    }

    @Test func aFileKeepsItsContentIfTheDiskIsFull() async throws {
        try OutputFile(path).replace(with: "old")
        await #expect(processExitsWith: .success) { [path = path as String] in
            // A file may have no more bytes than this, as if the disk had no more.
            signal(SIGXFSZ, SIG_IGN)
            Limit.fileSize.set(4096)
            let file = try OutputFile(path)
            let error = #expect(throws: SystemError.self) {
                try file.replace(with: String(repeating: "new", count: 10_000))
            }
            #expect(error?.description == "writing to \(path): File too large (errno 27)")
            #expect(ProcFile.text(path) == "old")
            try file.replace(with: "new")
            // Nor does a new file come into being.
            Limit.fileSize.set(0)
            #expect(throws: SystemError.self) { try OutputFile("\(path)2").replace(with: "new") }
        }
        #expect(ProcFile.text(path) == "new")
        #expect(names == ["file"])
    }

    @Test func aLinkAndTheModeOfItsGoalAreKept() throws {
        let link = "\(folder)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")
        // The goal does not exist yet.
        try OutputFile(link).replace(with: "first")
        #expect(unsafe chmod(path, 0o640) == 0)
        try OutputFile(link).replace(with: "second")
        #expect(ProcFile.text(path) == "second")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "file")
        #expect(Self.status(of: path).st_mode & 0o7777 == 0o640)
    }

    @Test func aFullDeviceIsAnError() async throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        await #expect(processExitsWith: .success) { [path = path as String] in
            // Root could replace the device, whatever the code does wrong.
            Self.giveUpRoot()
            let error = #expect(throws: SystemError.self) { try OutputFile(path).replace(with: "text") }
            #expect(error?.description == "writing to \(path): No space left on device (errno 28)")
        }
        #expect(Self.status(of: path).st_mode & S_IFMT == S_IFCHR)
    }

    @Test func aPipeIsWrittenDirectly() throws {
        let pipe = Pipe()
        let file = try OutputFile("/dev/fd/\(pipe.fileHandleForWriting.fileDescriptor)")
        try file.replace(with: "text")
        try file.append(" and more")
        #expect(pipe.fileHandleForReading.availableData == Data("text and more".utf8))
    }

    @Test func theStandardOutputStaysTheSameFile() async {
        await #expect(processExitsWith: .success) { [path = path as String] in
            try OutputFile(path).replace(with: "old")
            let before = Self.status(of: path).st_ino
            let (output, file) = (dup(STDOUT_FILENO), unsafe open(path, O_WRONLY))
            #expect(file >= 0 && dup2(file, STDOUT_FILENO) == STDOUT_FILENO)
            // No file can take the place of this one, whatever the code does. As root, it could take that of
            // /dev/stdout.
            try OutputFile("/proc/self/fd/1").replace(with: "new")
            dup2(output, STDOUT_FILENO)
            #expect(Self.status(of: path).st_ino == before)
        }
        #expect(ProcFile.text(path) == "new")
    }

    @Test func aFileInAFolderThatAdmitsNoOtherIsWrittenDirectly() async throws {
        try OutputFile(path).replace(with: "old")
        await #expect(processExitsWith: .success) { [folder = folder as String, path = path as String] in
            #expect(unsafe chmod(path, 0o666) == 0 && chmod(folder, 0o555) == 0)
            // The folder's mode does not bind root.
            Self.giveUpRoot()
            try OutputFile(path).replace(with: "new")
        }
        #expect(ProcFile.text(path) == "new")
    }

    @Test func aFileThatCouldNotBeCreatedIsAnErrorAtOnce() {
        for path in ["", "/nowhere/file", "/proc/file", "\(folder)/no/file", "\(folder)/new/"] {
            #expect(throws: SystemError.self) { try OutputFile(path) }
        }
        #expect(names.isEmpty)
    }

    @Test func aMissingFileIsAnError() {
        let error = #expect(throws: SystemError.self) { try InputFile.read("/nowhere/nothing") }
        #expect(error?.description == "reading /nowhere/nothing: No such file or directory (errno 2)")
        #expect(ProcFile.text("/nowhere/nothing") == nil)
    }

    private static func giveUpRoot() { if getuid() == 0 { setuid(65534) } }

    private static func status(of path: String) -> stat {
        var status = stat()
        _ = unsafe stat(path, &status)
        return status
    }
}
