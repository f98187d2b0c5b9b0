import Foundation
import Glibc
import TestSupport
import Testing

/// The machine's tools for injecting faults. If a tool is missing, its tests are skipped, with the reason.
enum Tools {
    /// Whether strace can make calls fail.
    static let canTrace = succeeds(["strace", "-qq", "-o", "/dev/null", "true"])
    static let noTracing: Comment = "needs strace, and the right to trace"

    /// The library that refuses calls, built from `refuse.c`; nil if there is no compiler.
    static let refusingLibrary: String? = {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("refuse.c")
        let programs = URL(fileURLWithPath: Child.path(of: "fault-probe")).deletingLastPathComponent()
        let library = programs.appendingPathComponent("refuse.so")
        // Built under another name and then moved, because another test process may be using the old file.
        let fresh = "\(library.path).\(getpid())"
        let arguments = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", fresh, source.path]
        for compiler in ["cc", "clang", "gcc"] where succeeds([compiler] + arguments) {
            return unsafe rename(fresh, library.path) == 0 ? library.path : nil
        }
        return nil
    }()
    static let canRefuse = refusingLibrary != nil
    static let noCompiler: Comment = "needs a C compiler, for the library that refuses calls"

    /// Whether the tests run as root.
    static let isRoot = geteuid() == 0
    static let notRoot: Comment = "needs root"

    /// Whether a time namespace can be made.
    static let hasTimeNamespaces = succeeds(["unshare", "-T", "true"])
    static let noTimeNamespaces: Comment = "needs unshare -T, and the right to make a time namespace"

    /// Whether a namespace of processes can be made.
    static let hasPIDNamespaces = succeeds(["unshare", "--pid", "--fork", "true"])
    static let noPIDNamespaces: Comment = "needs unshare --pid, and the right to make a namespace of processes"

    /// Whether a program can be given a real-time priority.
    static let canBeRealTime = succeeds(["chrt", "-f", "1", "true"])
    static let noRealTime: Comment = "needs chrt, and the right to a real-time priority"

    /// Whether a command exits with 0.
    private static func succeeds(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// A control group of version 1, removed with the value.
struct ControlGroup: ~Copyable {
    /// The group's directory.
    let path: String

    /// Whether groups of a kind, such as `freezer`, can be made.
    static func canBeMade(_ kind: String) -> Bool {
        do {
            _ = try ControlGroup(kind)
            return true
        } catch {
            return false
        }
    }

    static func missing(_ kind: String) -> Comment { "needs the right to make a control group (version 1): \(kind)" }

    /// - Throws: `CocoaError` if it cannot be made.
    init(_ kind: String) throws {
        let path = "/sys/fs/cgroup/\(kind)/precise-timer-\(getpid())-\(UInt32.random(in: 0...(.max)))"
        self.path = path
        // In any other file system the new directory stays empty.
        guard unsafe mkdir(path, 0o755) == 0, unsafe access("\(path)/cgroup.procs", W_OK) == 0 else {
            _ = unsafe rmdir(path)
            throw CocoaError(.fileWriteNoPermission)
        }
    }

    deinit {
        // The kernel keeps the group for a moment after its last process.
        for _ in 0..<100 {
            if unsafe rmdir(path) == 0 { return }
            usleep(10_000)
        }
    }

    /// Writes to one of a group's files; false if the kernel refuses.
    @discardableResult
    static func write(_ text: String, to file: String) -> Bool {
        (try? Data(text.utf8).write(to: URL(fileURLWithPath: file))) != nil
    }
}

/// A file with which a probe reports its progress, and is told to go on; removed with the value.
final class Mark: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path

    deinit { remove() }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Blocks until the probe has created the file, for half a minute at most.
    func wait() { _ = eventually { FileManager.default.fileExists(atPath: path) } }
}
