internal import CTimerKernel

/// Asks the kernel for the states of this process's threads.
///
/// The folder of /proc is opened early and kept: later the process may not find it, after a chroot or in a sandbox. An
/// open folder outlasts both, and an unmount.
package final class ThreadList: Sendable {
    private let folder = Lock<KeptFile?>(nil)

    package init() {}

    /// The calling thread's number in /proc; nil without /proc. In a namespace of processes it may be another one than
    /// that of gettid(2). The link says PROCESS/task/THREAD, and needs no descriptor.
    package static var callingThread: String? {
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe max(0, readlink("/proc/thread-self", &text, text.count))
        let parts = text[..<count].map { UInt8(bitPattern: $0) }.split(separator: UInt8(ascii: "/"))
        return parts.count == 3 ? String(decoding: parts[2], as: UTF8.self) : nil
    }

    /// Opens the folder, if that has not been done. If the system refuses it now, a later reading tries again.
    package func keep() { _ = kept }

    /// Opens the file of a thread's state; nil if the system refuses it.
    func file(of thread: String) -> ThreadFile? { KeptFile { self.open("\(thread)/stat") }.map(ThreadFile.init) }

    /// The states of all threads. O(n) for n threads.
    package var states: ThreadStates {
        var states = ThreadStates(isComplete: false)
        guard case .success(let copy) = open(".") else { return states }
        guard let list = unsafe fdopendir(copy) else {
            close(copy)
            return states
        }
        defer { unsafe closedir(list) }
        states.isComplete = true
        while let entry = unsafe readdir(list) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            switch open("\(name)/stat").flatMap(ThreadFile.takeText) {
            case .success(let text):
                states.known[name] = ThreadState(text)
                if states.known[name] == nil { states.isComplete = false }
            // The thread has ended.
            case .failure(Errno(ENOENT)), .failure(Errno(ESRCH)): continue
            case .failure: states.isComplete = false
            }
        }
        // At least the calling thread is in a list that the system gives.
        if states.known.isEmpty { states.isComplete = false }
        return states
    }

    private var kept: KeptFile? {
        folder.withLock { folder in
            if folder?.isOurs != true {
                folder = KeptFile {
                    SystemCall.retrying { unsafe file_open_at(AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY) }
                }
            }
            return folder
        }
    }

    /// Opens a file of the folder.
    private func open(_ name: String) -> Result<CInt, Errno> {
        let kept = kept
        defer { withExtendedLifetime(kept) {} }
        let path = kept == nil ? "/proc/self/task/\(name)" : name
        return SystemCall.retrying { unsafe file_open_at(kept?.number ?? AT_FDCWD, path, O_RDONLY) }
    }
}

/// The kept file of a thread's state, which can be read when no other file can be opened.
final class ThreadFile: Sendable {
    private let file: KeptFile

    fileprivate init(_ file: KeptFile) { self.file = file }

    /// What the kernel says; nil if it says nothing.
    var state: ThreadState? {
        guard file.isOurs, case .success(let text) = Self.text(of: file.number) else { return nil }
        return ThreadState(text)
    }

    /// The text of a descriptor, which is then closed.
    fileprivate static func takeText(of number: CInt) -> Result<ArraySlice<UInt8>, Errno> {
        defer { close(number) }
        return text(of: number)
    }

    /// The text from the file's start. A file that is none of ours is left as it is.
    private static func text(of number: CInt) -> Result<ArraySlice<UInt8>, Errno> {
        var text = [UInt8](repeating: 0, count: 512)
        return SystemCall.retrying { unsafe pread(number, &text, text.count, 0) }.map { text[..<$0] }
    }
}

/// A file that is open for long. If the process closes the descriptor from outside, its number may belong to another
/// file. So the value compares the file before each use, and does not close another one.
private final class KeptFile: Sendable {
    /// How many descriptors are left for others: a library may end the process if it gets none.
    private static let spare = 2

    let number: CInt
    private let claim: DescriptorClaim
    private let file: UInt64?

    /// Nil if the system refuses the file, or has hardly any descriptors left.
    init?(_ open: () -> Result<CInt, Errno>) {
        guard (try? EventLoopTrial.check(spare: Self.spare + 1)) != nil, case .success(let number) = open() else {
            return nil
        }
        self.number = number
        claim = DescriptorClaim(number)
        file = WakeUp.file(of: number)
    }

    var isOurs: Bool { !claim.isLost && file != nil && WakeUp.file(of: number) == file }

    deinit {
        if !isOurs { claim.lose() }
        claim.close()
    }
}

/// The process's limit on real-time threads (RLIMIT_RTTIME of getrlimit(2)).
package enum RealTimeLimit {
    /// How many nanoseconds of processor time a real-time thread may use without a sleep, before the kernel sends
    /// SIGXCPU, which ends the process; nil without a limit.
    package static var nanoseconds: UInt64? {
        var microseconds: UInt64 = 0
        guard unsafe real_time_limit(&microseconds) == 1 else { return nil }
        let (nanoseconds, isUnlimited) = microseconds.multipliedReportingOverflow(by: 1_000)
        return isUnlimited ? nil : nanoseconds
    }

    /// Whether the calling thread may run for a stretch without a sleep. Half of the limit is left for handlers, and a
    /// quarter for another such stretch.
    package static func allows(stretch: UInt64) -> Bool {
        guard thread_is_real_time() == 1, let nanoseconds else { return true }
        return stretch <= nanoseconds / 4
    }
}

/// The kernel's threads that stand between a timer and a real-time thread.
package enum RealTimeKernel {
    /// Whether timers expire in threads of the kernel (PREEMPT_RT), apart from the time-outs of real-time threads: see
    /// ``ThreadTimer``.
    package static var expiresTimersInThreads: Bool { kernel_is_preempt_rt() == 1 }
}
