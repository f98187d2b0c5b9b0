internal import Glibc
internal import Synchronization

/// Facts about this process.
package enum Process {
    /// The process id; another one after a fork. Remembered, because the system calls of a schedule and its cancel would
    /// take half as long again as all the rest of them.
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
}
