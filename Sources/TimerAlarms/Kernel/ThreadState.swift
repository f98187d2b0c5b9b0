internal import Glibc

/// What the kernel says of the threads of this process (proc_pid_stat(5)).
enum ThreadState {
    /// Whether a thread runs, or is ready to run and waits for a processor. False if there is no such thread, or no
    /// /proc.
    static func isRunnable(_ thread: Int32) -> Bool { letter(of: "\(thread)") == UInt8(ascii: "R") }

    /// Whether any thread is stopped, as by a debugger. O(n) for n threads.
    static var anyIsStopped: Bool {
        guard let folder = unsafe opendir("/proc/self/task") else { return false }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if let letter = letter(of: name), [UInt8(ascii: "T"), UInt8(ascii: "t")].contains(letter) { return true }
        }
        return false
    }

    /// The letter for a thread's state; nil if it cannot be read.
    private static func letter(of thread: String) -> UInt8? {
        let opened = SystemCall.retrying { unsafe open("/proc/self/task/\(thread)/stat", O_RDONLY | O_CLOEXEC) }
        guard case .success(let file) = opened else { return nil }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 512)
        let count = unsafe max(0, read(file, &text, text.count))
        // The letter follows the thread's name, which is in brackets and may contain some.
        guard let bracket = text[..<count].lastIndex(of: UInt8(ascii: ")")), bracket + 2 < count else { return nil }
        return text[bracket + 2]
    }
}
