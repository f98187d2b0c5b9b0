import Foundation
import Glibc
import PreciseTimer
import TestSupport

/// Faults that a process can inject into itself.
enum SystemFault {
    /// Performs a step. Returns false if the step is unknown, or if the system did not allow it.
    static func perform(_ name: String, _ value: String) -> Bool {
        switch name {
        // KIND: closes every descriptor of a kind, such as `[timerfd]`; `all` closes all above standard error.
        case "close": close(value)
        // Opens files until one gets a closed number, as a host does.
        case "reuse": return reuse()
        // Whether the files that took those numbers are still open.
        case "still-open": return unsafe reused.allSatisfy { fcntl($0, F_GETFD) != -1 && isFile($0) }
        // No more descriptors can be opened, or only the given number.
        case "fill": fill(leaving: Int(value) ?? 0)
        case "unfill": setLimit(CInt(RLIMIT_NOFILE.rawValue), 1_000)
        // No more threads can be started, because the user has too many processes.
        case "nproc":
            guard setgid(65_534) == 0, setuid(65_534) == 0 else { return false }
            setLimit(processes, 0)
        case "no-nproc": setLimit(processes, .max)
        // FILE:TEXT: writes to a file, for example of a control group.
        case "write": return write(value)
        // FILE: makes an empty file, which tells the test that the probe has reached this step.
        case "mark": return FileManager.default.createFile(atPath: value, contents: nil)
        // HERTZ: starts a thread that sends SIGUSR1 to the process, which has a handler.
        case "signals": return sendSignals(hertz: Int(value) ?? 1)
        // COUNTxSECONDS: starts threads that keep processors busy for a while.
        case "spin": return spin(value)
        default: return false
        }
        return true
    }

    private nonisolated(unsafe) static var closed: Set<CInt> = []
    private nonisolated(unsafe) static var reused: [CInt] = []

    private static var descriptors: [CInt] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { CInt($0) }.filter { $0 > 2 && fcntl($0, F_GETFD) != -1 }
    }

    private static func destination(_ descriptor: CInt) -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
    }

    private static func isFile(_ descriptor: CInt) -> Bool { destination(descriptor) == "/dev/null" }

    private static func close(_ kind: String) {
        for descriptor in descriptors where kind == "all" || destination(descriptor).hasSuffix(kind) {
            unsafe closed.insert(descriptor)
            Glibc.close(descriptor)
        }
    }

    private static func reuse() -> Bool {
        for _ in 0..<200 {
            let file = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            if unsafe closed.contains(file) { unsafe reused.append(file) }
        }
        return unsafe !reused.isEmpty
    }

    private static func fill(leaving count: Int) {
        let free = (0..<CInt.max).lazy.filter { fcntl($0, F_GETFD) == -1 }.prefix(count + 1)
        setLimit(CInt(RLIMIT_NOFILE.rawValue), UInt64(free.reduce(0) { max($0, $1) }))
    }

    /// The kernel's RLIMIT_NPROC, which Glibc does not show to Swift.
    private static let processes: CInt = 6

    private static func setLimit(_ resource: CInt, _ soft: UInt64) {
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(resource), &limit)
        limit.rlim_cur = min(rlim_t(soft), limit.rlim_max)
        _ = unsafe setrlimit(__rlimit_resource_t(resource), &limit)
    }

    private static func write(_ value: String) -> Bool {
        let parts = value.split(separator: ":", maxSplits: 1).map(String.init)
        let file = unsafe open(parts[0], O_WRONLY | O_CLOEXEC)
        defer { Glibc.close(file) }
        return unsafe Glibc.write(file, parts[1], parts[1].utf8.count) == parts[1].utf8.count
    }

    private static func sendSignals(hertz: Int) -> Bool {
        signal(SIGUSR1) { _ in }
        let id = getpid()
        return start {
            while true {
                usleep(UInt32(1_000_000 / hertz))
                kill(id, SIGUSR1)
            }
        }
    }

    private static func spin(_ value: String) -> Bool {
        let numbers = value.split(separator: "x").compactMap { Double($0) }
        for _ in 0..<Int(numbers[0]) {
            let end = Reading.seconds + numbers[1]
            guard start({ while Reading.seconds < end {} }) else { return false }
        }
        return true
    }

    /// A thread of the host, which receives signals as usual.
    private static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let thread = Foundation.Thread(block: body)
        thread.start()
        return true
    }
}

/// A forked child with the same process id as its parent: each is the first process of its namespace.
enum NamespaceChild {
    /// Whether a schedule on the parent's service throws the error for children. False, too, if there is no such child.
    static func getsAnError(from service: TimerService) -> Bool {
        let child = fork()
        if child == 0 { _exit(getpid() == 1 && throwsAnError(service) ? 0 : 1) }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        return child > 0 && getpid() == 1 && status == 0
    }

    private static func throwsAnError(_ service: TimerService) -> Bool {
        do {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: Log()) { $0.note($1) }
            return false
        } catch {
            return error.code == .forked
        }
    }

    /// Forks by the system call clone(2), which can make the child's namespace. Glibc's `syscall` has variable
    /// arguments, which integers are passed to as to any other function.
    private static func fork() -> pid_t {
        typealias Call = @convention(c) (Int, UInt, Int, Int, Int, Int) -> Int
        guard let address = unsafe dlsym(nil, "syscall") else { return -1 }
        let call = unsafe unsafeBitCast(address, to: Call.self)
        let newNamespace: UInt = 0x2000_0000
        return pid_t(call(Self.clone, newNamespace | UInt(SIGCHLD), 0, 0, 0, 0))
    }

    // The call's number, which Glibc does not show to Swift.
    #if arch(x86_64)
    private static let clone = 56
    #else
    private static let clone = 220
    #endif
}
