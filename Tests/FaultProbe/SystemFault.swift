import Foundation
import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import TimerKernel

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
        case "still-open": return unsafe Set(reused).isSubset(of: ProcFS.descriptors(on: "/dev/null"))
        // No more descriptors can be opened, or only the given number.
        case "fill":
            let free = (0..<CInt.max).lazy.filter { fcntl($0, F_GETFD) == -1 }.prefix((Int(value) ?? 0) + 1)
            Limit.descriptors.set(UInt64(free.reduce(0) { max($0, $1) }))
        case "unfill": Limit.descriptors.set(1_000)
        // Goes into an empty root, in which there is no /proc.
        case "chroot": return leaveRoot()
        // SECONDS: the kernel holds the thread of the last tick for so long.
        case "hold": return HeldThread.hold(for: Double(value) ?? 0)
        // Whether the kernel says of a sleeping thread that nothing holds it up.
        case "knows-sleeper":
            let setup = ThreadSetup()
            return (try? setup.startThread("sleeper") { while true { sleep(1_000) } }) != nil
                && eventually(within: .seconds(5)) { setup.holdUp() == nil }
        default: return false
        }
        return true
    }

    private nonisolated(unsafe) static var closed: Set<CInt> = []
    private nonisolated(unsafe) static var reused: [CInt] = []

    private static func close(_ kind: String) {
        let all = (3..<CInt(1_000)).filter { fcntl($0, F_GETFD) != -1 }
        for descriptor in kind == "all" ? all : ProcFS.descriptors(on: "anon_inode:\(kind)") {
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

    private static func leaveRoot() -> Bool {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try? FileManager.default.createDirectory(atPath: root + "/tmp", withIntermediateDirectories: true)
        return unsafe chroot(root) == 0 && chdir("/") == 0
    }

}

/// A thread in state D, as one that is frozen or waits for a page: it starts a program, and waits until its child
/// executes that. But the child first opens a pipe, which waits for a writer.
enum HeldThread {
    /// In a namespace, other processes may have the same number.
    private static let pipe = "/tmp/fault-probe-\(getpid())-\(TimerClock.suspending.now.nanoseconds)"
    private nonisolated(unsafe) static var actions = unsafe posix_spawn_file_actions_t()
    private nonisolated(unsafe) static let path: UnsafeMutablePointer<CChar>? = unsafe strdup("/bin/true")
    private static let thread = Atomic<UInt>(0)
    private static let returned = Atomic(false)

    /// Notes the calling thread.
    static func note() { thread.store(UInt(pthread_self()), ordering: .relaxed) }

    /// Holds the noted thread with a signal that library threads do not block. Returns whether it was held.
    static func hold(for seconds: Double) -> Bool {
        guard unsafe mkfifo(pipe, 0o600) == 0, unsafe posix_spawn_file_actions_init(&actions) == 0 else { return false }
        // In place of a descriptor that the child has, because the table may be full.
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, pipe, O_RDONLY, 0)
        signal(SIGTRAP) { _ in
            var (id, arguments): (pid_t, [UnsafeMutablePointer<CChar>?]) = unsafe (0, [HeldThread.path, nil])
            unsafe posix_spawn(&id, "/bin/true", &HeldThread.actions, nil, &arguments, environ)
            HeldThread.returned.store(true, ordering: .sequentiallyConsistent)
        }
        guard pthread_kill(pthread_t(thread.load(ordering: .relaxed)), SIGTRAP) == 0 else { return false }
        pause(.milliseconds(Int(seconds * 1_000)))
        let wasHeld = !returned.load(ordering: .sequentiallyConsistent)
        // The table may be full.
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(Limit.descriptors.rawValue), &limit)
        Limit.descriptors.set(1_000)
        // Fails while no reader waits.
        var writer: CInt = -1
        let isReleased = eventually {
            if writer < 0 { writer = unsafe open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC) }
            return returned.load(ordering: .sequentiallyConsistent)
        }
        Glibc.close(writer)
        unsafe unlink(pipe)
        Limit.descriptors.set(UInt64(limit.rlim_cur))
        return wasHeld && isReleased
    }
}

/// A forked child with the same process id as its parent: each is the first process of its namespace.
enum NamespaceChild {
    /// Whether a schedule on the parent's service throws the error for children. False, too, if there is no such child.
    static func getsAnError(from service: TimerService) -> Bool {
        let child = fork()
        if child == 0 {
            do {
                try PreciseTimer.schedule(.once(after: .zero), on: service, target: Thing()) { _, _ in }
                _exit(1)
            } catch { _exit(getpid() == 1 && error.code == .forked ? 0 : 1) }
        }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        return child > 0 && getpid() == 1 && status == 0
    }

    private static func fork() -> pid_t {
        // 0x2000_0000 is CLONE_NEWPID: for the children of the caller.
        guard function("unshare", as: (@convention(c) (CInt) -> CInt).self)?(0x2000_0000) == 0 else { return -1 }
        return function("fork", as: (@convention(c) () -> pid_t).self)?() ?? -1
    }
}

/// The attributes that a new thread inherits: processors, nice value and scheduling policy.
enum ThreadAttributes {
    /// The thread whose attributes are unusual on purpose.
    private static let starter = Box<CInt>()

    /// Runs a body on a thread with an unusual attribute, and waits for it. Returns false if the attribute
    /// could not be set.
    static func run(with attribute: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let (isSet, isOver) = (Box<Bool>(), Gate())
        // Not the main thread, whose attributes are the reference.
        Foundation.Thread.detachNewThread {
            isSet.value = set(attribute)
            starter.value = ProcFS.callingThread
            body()
            isOver.open()
            // The thread stays alive, so that no other thread gets its number.
            while true { sleep(1_000) }
        }
        isOver.pass()
        return isSet.value == true
    }

    /// Whether all threads but the starter have the main thread's attributes, at once or soon: a new thread takes a
    /// moment. Only threads whose name begins with the prefix count.
    static func othersAreOrdinary(named prefix: String) -> Bool {
        let main = attributes(of: "\(getpid())", mindingNice: !prefix.isEmpty)
        return eventually {
            let others = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [])
                .filter { $0 != "\(starter.value ?? 0)" && text($0, "comm").hasPrefix(prefix) }
            // A thread may have ended since the names were read.
            let known = others.compactMap { attributes(of: $0, mindingNice: !prefix.isEmpty) }
            return !known.isEmpty && known.allSatisfy { $0 == main }
        }
    }

    private static func set(_ attribute: String) -> Bool {
        switch attribute {
        case "nice": return setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) == 0
        case "pinned": return ProcFS.pin(ProcFS.callingThread, to: [0])
        default:
            // SCHED_BATCH and SCHED_IDLE, which Glibc does not show to Swift.
            var parameters = sched_param()
            return unsafe sched_setscheduler(0, attribute == "batch" ? 3 : 5, &parameters) == 0
        }
    }

    private static func text(_ thread: String, _ file: String) -> String {
        (try? String(contentsOfFile: "/proc/self/task/\(thread)/\(file)", encoding: .utf8)) ?? ""
    }

    /// A thread's attributes; nil if it has ended.
    private static func attributes(of thread: String, mindingNice: Bool) -> String? {
        let processors = text(thread, "status").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") } ?? ""
        // The fields follow the name, which is in brackets: the nice value is the 19th field, the policy the 41st
        // (proc_pid_stat(5)).
        let fields = text(thread, "stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 38 else { return nil }
        return "\(processors), policy \(fields[38])" + (mindingNice ? ", nice \(fields[16])" : "")
    }
}
