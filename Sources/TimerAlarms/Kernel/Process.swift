internal import Glibc
internal import Synchronization

/// Facts about this process, and a word to its developer.
package enum Process {
    /// The process id; another one after a fork. Remembered, because asking the kernel costs more than a timer does.
    package static var id: Int32 {
        let known = knownID.load(ordering: .relaxed)
        return known != 0 ? known : findOutID()
    }

    /// The id, or 0 while it is not known.
    private static let knownID = Atomic<Int32>(0)
    /// Makes forked children forget their parent's id; 0 where that worked.
    private static let forgetting: CInt = pthread_atfork(nil, nil, { Process.knownID.store(0, ordering: .relaxed) })

    private static func findOutID() -> Int32 {
        let id = getpid()
        if forgetting == 0 { knownID.store(id, ordering: .relaxed) }
        return id
    }

    /// Writes one line to standard error.
    package static func warn(_ line: String) {
        let text = "PreciseTimer: \(line)\n"
        var remaining = Substring(text)
        let written = remaining.withUTF8 { bytes in unsafe write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
        _ = written
    }
}
