internal import HostSystem

/// Other programs that want processors: shells that do nothing but count. They stand still until they may work.
/// They belong to the session of this process, so the kernel shares the processors out among them and it alike.
///
/// They end with this object. If this process is killed, a shell that works sees another parent within a tenth of a
/// second, and ends. One that stands still gets SIGHUP, since its process group is then an orphan (setpgid(2)).
final class BusyProcesses: Sendable {
    private let processes: [Process]

    /// Starts some shells. Throws `SystemError` if the system refuses one; the others end then.
    init(_ count: Int) throws(SystemError) {
        var processes: [Process] = []
        for _ in 0..<count { processes.append(try Process()) }
        self.processes = processes
    }

    func begin() { for process in processes { process.child.resume() } }

    func halt() { for process in processes { process.child.pause() } }

    /// One shell, killed with the object.
    private final class Process: Sendable {
        let child: ChildProcess

        init() throws(SystemError) {
            child = try ChildProcess("/bin/sh", ["-c", Self.script])
            child.pause()
        }

        /// The fourth field of proc_pid_stat(5) is the parent.
        private static let script = """
            while read -r _ _ _ parent _ < /proc/$$/stat && [ "$parent" = $PPID ]; do
                i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done
            done
            """
    }
}
