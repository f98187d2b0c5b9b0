/// The rights of this process that an ordinary user does not have (capabilities(7)).
package struct Capabilities: Hashable, Sendable {
    /// One right, by its number in the kernel.
    package enum Right: Int, Sendable {
        /// CAP_IPC_LOCK: to lock memory without a limit.
        case lockMemory = 14
        /// CAP_SYS_NICE: to choose any scheduling policy and priority.
        case setPriority = 23
    }

    private let effective: UInt64

    /// The rights that the kernel looks at; nil if it does not show them.
    package static var current: Capabilities? {
        ProcFile.text("/proc/self/status").flatMap { Capabilities(status: $0) }
    }

    /// Reads the text of /proc/self/status: the line `CapEff` has one bit for each right (proc_pid_status(5)).
    package init?(status: String) {
        let words = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }?.split { $0 == "\t" || $0 == " " }
        guard let words, words.count == 2, let effective = UInt64(words[1], radix: 16) else { return nil }
        self.effective = effective
    }

    /// Whether the process has a right.
    package func has(_ right: Right) -> Bool { effective & 1 << right.rawValue != 0 }
}
