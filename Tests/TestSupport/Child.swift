package import Foundation
internal import Glibc
package import PreciseTimer

/// A program that a test runs as a child, in its own process group, which is killed if the program hangs.
package enum Child {
    /// How the program ended.
    package struct Outcome: Sendable, CustomStringConvertible {
        /// The exit code; nil if a signal ended the program.
        package let code: Int32?
        /// The signal that ended the program.
        package let signal: Int32?
        package let output: String
        package let complaint: String

        /// The lines on standard error.
        package var complaints: [Substring] { complaint.split(separator: "\n") }

        /// The text for a failed expectation.
        package var description: String {
            let end = code.map { "exit code \($0)" } ?? "signal \(signal ?? 0)"
            return "\(end), standard error: \(complaint.suffix(600))"
        }
    }

    /// Runs a command to its end.
    ///
    /// - Parameters:
    ///   - command: the program and its arguments; a program without a slash is looked up in the `PATH`.
    ///   - environment: variables in addition to those of this process; an empty text removes one.
    ///   - output: the file of its output; nil for one that the outcome shows.
    ///   - body: called with the process id once the program runs, on the thread that waits for it.
    /// - Returns: how the program ended.
    /// - Throws: `POSIXError` if the program could not be started.
    package static func run(
        _ command: [String],
        environment: [String: String] = [:],
        output: FileHandle? = nil,
        meanwhile body: (@Sendable (pid_t) -> Void)? = nil
    ) async throws -> Outcome {
        try await onOwnThread {
            let (own, errors) = (try TemporaryFile(), try TemporaryFile())
            let variables = ProcessInfo.processInfo.environment.merging(environment) { _, given in given }
                .filter { !$0.value.isEmpty }.map { "\($0.key)=\($0.value)" }
            let id = try spawn(command, variables, [output ?? own.handle, errors.handle])
            body?(id)
            let status = wait(for: id)
            let code: Int32? = status & 0x7f == 0 ? status >> 8 & 0xff : nil
            let signal = code == nil ? status & 0x7f : nil
            return Outcome(code: code, signal: signal, output: try own.text, complaint: try errors.text)
        }
    }

    /// The file of a program that was built with the tests: it lies beside their bundle.
    package static func path(of program: String) -> String {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(program).path
    }

    /// Lets the calling thread take all signals.
    package static func unblockSignals() {
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    private static func wait(for id: pid_t) -> Int32 {
        let end = Reading.seconds + Double(Hang.seconds)
        var status: Int32 = 0
        while unsafe waitpid(id, &status, WNOHANG) == 0 {
            if Reading.seconds > end { kill(-id, SIGKILL) }
            pause(.milliseconds(5))
        }
        // Kills the processes that the program left behind, such as a tracee of a killed tracer.
        kill(-id, SIGKILL)
        return status
    }

    /// Starts a program, with these files for its output and its errors.
    private static func spawn(_ command: [String], _ variables: [String], _ files: [FileHandle]) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (number, file) in zip([STDOUT_FILENO, STDERR_FILENO], files) {
            unsafe posix_spawn_file_actions_adddup2(&actions, file.fileDescriptor, number)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The starting thread may have signals blocked.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(&attributes, CShort(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        let texts: [UnsafeMutablePointer<CChar>?] = unsafe (command + variables).map { unsafe strdup($0) }
        defer { for index in unsafe texts.indices { unsafe free(texts[index]) } }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe texts.prefix(command.count) + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = unsafe texts.dropFirst(command.count) + [nil]
        var id: pid_t = 0
        let failure = unsafe posix_spawnp(&id, command[0], &actions, &attributes, &arguments, &environment)
        if failure != 0 { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
        return id
    }
}

/// A file that is removed with the value. Unlike a pipe it cannot fill up and stop the child.
package final class TemporaryFile {
    package let handle: FileHandle
    private let url: URL

    /// A file with some text, whose name ends in the suffix, as `.json`.
    package init(_ content: String = "", suffix: String = "") throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + suffix)
        try Data(content.utf8).write(to: url)
        handle = try FileHandle(forWritingTo: url)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    package var path: String { url.path }

    /// The written text.
    package var text: String { get throws { String(decoding: try Data(contentsOf: url), as: UTF8.self) } }
}

/// A folder that is removed with the value, and with what is in it.
package final class TemporaryFolder: Sendable {
    package let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path

    package init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit {
        _ = unsafe chmod(path, 0o777)
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A function that a preloaded library has, or that Glibc hides from Swift; nil if there is none. Integers are passed
/// to variable arguments as to any others.
package func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    unsafe dlsym(nil, name).map { unsafe unsafeBitCast($0, to: type) }
}

/// Limits of the process that the kernel keeps, by its numbers, of which Glibc shows only some to Swift.
package enum Limit: UInt32 {
    /// Before all descriptors are refused, a test calls `DispatchDescriptors.open()`: Dispatch ends the process if it
    /// cannot open its own.
    case descriptors = 7
    case lockedMemory = 8
    case realTimePriority = 14
    /// Processor time of a real-time thread without a sleep, in microseconds.
    case realTime = 15

    /// Sets the limit, but not above that for unprivileged processes.
    package func set(_ soft: UInt64) {
        let number = __rlimit_resource_t(rawValue)
        var limit = rlimit()
        _ = unsafe getrlimit(number, &limit)
        limit.rlim_cur = min(rlim_t(soft), limit.rlim_max)
        _ = unsafe setrlimit(number, &limit)
    }
}

/// The report of a fault probe, which it writes to its standard output for the test that started it.
package struct ProbeReport: Codable, Sendable {
    /// One step of the probe, from its command line.
    package struct Step: Codable, Sendable {
        /// The step's argument.
        package let text: String
        /// The duration of the step.
        package let seconds: Double
        /// The processor time that the process used during the step.
        package let cpuSeconds: Double
        /// Whether the step's condition came true.
        package let isMet: Bool
        /// The error that the step got.
        package let refusal: Refusal?

        package init(text: String, seconds: Double, cpuSeconds: Double, isMet: Bool, refusal: Refusal?) {
            (self.text, self.seconds, self.cpuSeconds) = (text, seconds, cpuSeconds)
            (self.isMet, self.refusal) = (isMet, refusal)
        }
    }

    /// A `TimerError`.
    package struct Refusal: Codable, Sendable {
        package let code, text: String

        package init(_ error: TimerError) { (code, text) = (error.code.name, error.description) }
    }

    /// One timer from its schedule to its end.
    package struct Timer: Codable, Sendable {
        /// The deadlines of its ticks, in nanoseconds of the service's clock.
        package let ticks: [UInt64]
        /// The number of deadlines that the ticks stand for.
        package let accounted: Int
        /// Every reason passed to its `onEnd`; the code of the error if the backend failed.
        package let ends: [String]
        /// The text of each of those errors.
        package let failures: [String]
        /// The first fault in its ticks; nil if no tick is lost, invented, early or off the grid.
        package let flaw: String?

        package init(_ ticks: [PreciseTimer.Tick], ends: [String], failures: [String], flaw: String?) {
            (self.ticks, accounted) = (ticks.map(\.deadline.nanoseconds), ticks.accounted)
            (self.ends, self.failures, self.flaw) = (ends, failures, flaw)
        }
    }

    package let steps: [Step]
    package let timers: [Timer]
    /// The number of calls that the preloaded library refused.
    package let refusedCalls: Int

    package init(steps: [Step], timers: [Timer], refusedCalls: Int) {
        (self.steps, self.timers, self.refusedCalls) = (steps, timers, refusedCalls)
    }

    /// The first step with this prefix.
    package func step(_ prefix: String) -> Step? { steps.first { $0.text.hasPrefix(prefix) } }
}
