internal import HostSystem
internal import Synchronization

/// Other programs that want processors: shells that do nothing but count. They stand still until they may work.
/// They belong to the session of this process, so the kernel shares the processors out among them and it alike.
///
/// They end with this object. If this process is killed, a shell that works notices within a tenth of a second that its
/// parent is gone, and ends. One that stands still gets SIGHUP, since its process group is then an orphan (setpgid(2)).
final class BusyProcesses: Sendable {
    private let processes: [Process]

    /// Starts some shells. Throws `SystemError` if the system refuses one; the others end then.
    init(_ count: Int) throws(SystemError) {
        var processes: [Process] = []
        for _ in 0..<count { processes.append(try Process()) }
        self.processes = processes
    }

    func begin() { for process in processes { process.child.withLock { $0.resume() } } }

    func halt() { for process in processes { process.child.withLock { $0.pause() } } }

    /// How the first shell ended that has ended; nil if all of them live.
    var end: ChildProcess.End? { processes.lazy.compactMap { $0.child.withLock { $0.poll() } }.first }

    /// One shell, killed with the object.
    private final class Process: Sendable {
        let child: Mutex<ChildProcess>

        init() throws(SystemError) {
            let child = try ChildProcess("/bin/sh", ["-c", Self.script])
            child.pause()
            self.child = Mutex(child)
        }

        /// Asks for the parent by a signal and not in /proc, which may be that of another process namespace.
        private static let script = """
            while kill -0 $PPID 2>/dev/null; do
                i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done
            done
            """
    }
}
