internal import Dispatch
internal import Foundation

/// The kernel's facts about this process.
package enum ProcFS {
    /// The names of the threads with this prefix.
    package static func threads(named prefix: String) -> [String] {
        tasks(named: prefix)
            .compactMap { text("/proc/self/task/\($0)/comm")?.trimmingCharacters(in: .newlines) }
    }

    /// The masks of blocked signals, in hexadecimal, of the threads with this prefix.
    package static func blockedSignals(ofThreadsNamed prefix: String) -> [String] {
        tasks(named: prefix).compactMap { field("SigBlk:", of: "/proc/self/task/\($0)/status") }
    }

    /// The timer slacks, in nanoseconds, of the threads with this prefix.
    package static func timerSlacks(ofThreadsNamed prefix: String) -> [Int] {
        tasks(named: prefix).compactMap { Int32($0).flatMap(timerSlack(of:)) }
    }

    /// The resident memory of the process, in bytes (proc_pid_statm(5)).
    package static var residentBytes: Int {
        let pages = text("/proc/self/statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    /// The open descriptors, and what they are open on.
    package static var links: [Int32: String] {
        let links = entries("/proc/self/fd")
            .compactMap { entry in
                link("/proc/self/fd/\(entry)").flatMap { link in Int32(entry).map { ($0, link) } }
            }
        return Dictionary(uniqueKeysWithValues: links)
    }

    /// The number of open descriptors.
    package static var openDescriptors: Int { links.count }

    /// The number of descriptors that are open on a file.
    package static func openDescriptors(on path: String) -> Int { descriptors(on: path).count }

    /// The descriptors that are open on a file.
    package static func descriptors(on path: String) -> [Int32] { links.filter { $1 == path }.keys.sorted() }

    /// The open timers, event loops and events: all descriptors that are no file, pipe or socket.
    private static var events: [Int32] { links.filter { $1.hasPrefix("anon_inode:") }.keys.sorted() }

    /// The number of open timers, event loops and events.
    package static var eventDescriptors: Int { events.count }

    /// The descriptors of timers, event loops and events that programs executed by this process would inherit.
    package static var inheritableTimerDescriptors: [Int32] { events.filter(isInheritable) }

    /// Whether programs executed by this process would inherit a descriptor.
    package static func isInheritable(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0 }

    /// Whether a process is stopped by a signal.
    package static func isStopped(_ process: Int32) -> Bool {
        field("State:", of: "/proc/\(process)/status")?.hasPrefix("T") ?? false
    }

    /// What a timerfd is set to: the seconds until it expires, 0 if it is not set, and the flags (proc_pid_fdinfo(5)).
    package static func timer(_ descriptor: Int32) -> (seconds: Int, flags: Int) {
        let file = "/proc/self/fdinfo/\(descriptor)"
        let seconds = field("it_value:", of: file)?.dropFirst().split(separator: ",").first.flatMap { Int($0) }
        return (seconds ?? -1, field("settime flags:", of: file).flatMap { Int($0, radix: 8) } ?? -1)
    }

    /// Takes back each request to clear pages in a forked child. Returns the number of mappings that keep theirs.
    package static func keepPagesOnFork() -> Int {
        (text("/proc/self/maps") ?? "").split(separator: "\n")
            .count { line in
                let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
                let page = unsafe UnsafeMutableRawPointer(bitPattern: bounds[0])
                // 19 is MADV_KEEPONFORK.
                return unsafe madvise(page, Int(bounds[1] - bounds[0]), 19) == 0
            }
    }

    /// Whether a process has no main thread any more. It is over, unless other threads go on.
    package static func mainThreadHasEnded(_ process: Int32) -> Bool {
        field("State:", of: "/proc/\(process)/status")?.hasPrefix("Z") ?? true
    }

    /// The kernel's number of the calling thread.
    package static var callingThread: Int32 {
        // The link names the calling thread: PROCESS/task/THREAD.
        link("/proc/thread-self")?.split(separator: "/").last.flatMap { Int32($0) } ?? 0
    }

    /// A thread's timer slack in nanoseconds.
    package static func timerSlack(of thread: Int32) -> Int? {
        text("/proc/\(thread)/timerslack_ns").flatMap { Int($0.trimmingCharacters(in: .newlines)) }
    }

    /// A thread's slice in nanoseconds; nil if the kernel does not show it.
    package static func slice(of thread: Int32) -> Int? {
        field("se.slice", of: "/proc/self/task/\(thread)/sched")
            .flatMap { text in Int(text.drop { $0 == " " || $0 == ":" }) }
    }

    /// How often the calling thread has left its processor to sleep (proc_pid_status(5)). Under the thread sanitizer
    /// these are not only its own sleeps: the sanitizer's locks let a thread sleep, too.
    package static var sleepsOfCallingThread: Int {
        field("voluntary_ctxt_switches:", of: "/proc/thread-self/status").flatMap { Int($0) } ?? 0
    }

    /// The processors that the calling thread may use, in order (Cpus_allowed_list of proc_pid_status(5)).
    package static var processors: [Int] {
        let list = field("Cpus_allowed_list:", of: "/proc/thread-self/status") ?? ""
        return list.split(separator: ",")
            .flatMap { range in
                let ends = range.split(separator: "-").compactMap { Int($0) }
                return ends.isEmpty ? [] : Array(ends[0]...ends[ends.count - 1])
            }
    }

    /// Lets the main thread run on one processor only. Returns whether that was obtained.
    package static func pinMainThread(to processor: Int) -> Bool { pin(getpid(), to: [processor]) }

    /// Lets a thread run on some processors only. Returns whether that was obtained.
    package static func pin(_ thread: Int32, to processors: [Int]) -> Bool {
        // Glibc shows this function to GNU sources only.
        typealias Function = @convention(c) (pid_t, Int, UnsafePointer<UInt>) -> CInt
        guard let address = unsafe dlsym(nil, "sched_setaffinity") else { return false }
        var mask = processors.filter { $0 < UInt.bitWidth }.reduce(0 as UInt) { $0 | 1 << UInt($1) }
        let call = unsafe unsafeBitCast(address, to: Function.self)
        return unsafe call(thread, MemoryLayout<UInt>.size, &mask) == 0
    }

    /// Whether the process may give its threads real-time policies and read their slack: CAP_SYS_NICE. Root in
    /// a container may not.
    package static let maySchedule = isCapable(of: 23)

    /// Whether the process may lock as much memory as it likes: CAP_IPC_LOCK.
    package static let mayLockMemory = isCapable(of: 14)

    /// Whether the process has a capability (capabilities(7)).
    private static func isCapable(of number: UInt64) -> Bool {
        let set = field("CapEff:", of: "/proc/self/status").flatMap { UInt64($0, radix: 16) } ?? 0
        return set >> number & 1 == 1
    }

    /// A thread's policy and real-time priority.
    package struct Scheduling: Hashable, Sendable {
        package let policy: Int32
        package let priority: Int32

        package init(policy: Int32, priority: Int32) {
            (self.policy, self.priority) = (policy, priority)
        }
    }

    /// The calling thread's policy and real-time priority (proc_pid_stat(5), fields 41 and 40).
    package static var schedulingOfCallingThread: Scheduling {
        let fields = fieldsAfterName("/proc/thread-self/stat")
        guard fields.count > 38, let policy = Int32(fields[38]), let priority = Int32(fields[37]) else {
            return Scheduling(policy: -1, priority: -1)
        }
        return Scheduling(policy: policy, priority: priority)
    }

    /// The children of this process whose program has this name.
    package static func children(named name: String) -> [Int32] {
        entries("/proc").compactMap { Int32($0) }
            .filter { process in
                let fields = fieldsAfterName("/proc/\(process)/stat")
                return text("/proc/\(process)/comm") == "\(name)\n" && fields.count > 1 && Int32(fields[1]) == getpid()
            }
    }

    /// The processor time of a process in clock ticks of 10 ms; nil if there is no such process.
    package static func processorTicks(of process: Int32) -> Int? {
        let fields = fieldsAfterName("/proc/\(process)/stat")
        return fields.count > 12 ? fields[11...12].reduce(0) { $0 + (Int($1) ?? 0) } : nil
    }

    /// The fields of proc_pid_stat(5) from the third on. They follow the name, which may contain any character.
    package static func fieldsAfterName(_ path: String) -> [Substring] {
        text(path)?.split(separator: ")").last?.split(separator: " ") ?? []
    }

    /// The rest of the line that begins with a name.
    package static func field(_ name: String, of path: String) -> String? {
        text(path)?.split(separator: "\n").first { $0.hasPrefix(name) }
            .map { $0.dropFirst(name.count).trimmingCharacters(in: .whitespaces) }
    }

    /// The numbers of the threads with this prefix.
    package static func tasks(named prefix: String) -> [String] {
        entries("/proc/self/task").filter { text("/proc/self/task/\($0)/comm")?.hasPrefix(prefix) ?? false }
    }

    private static func link(_ path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    private static func entries(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}

/// Readings of the kernel's clocks, in seconds.
package enum Reading {
    /// Monotonic time.
    package static var seconds: Double { read(CLOCK_MONOTONIC) }

    /// The processor time of this process.
    package static var cpuSeconds: Double { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The descriptors of Dispatch, which it opens for its first wait.
package enum DispatchDescriptors {
    /// Lets Dispatch open them. Otherwise a test's time limit causes that wait, at any moment. To be called first.
    package static func open() {
        // A timer that is due soon may come before Dispatch has opened a timer of the kernel for it.
        let far = DispatchSource.makeTimerSource()
        far.schedule(deadline: .now() + .seconds(3600))
        far.activate()
        precondition(eventually { !ProcFS.descriptors(on: "anon_inode:[timerfd]").isEmpty })
        far.cancel()
    }
}
