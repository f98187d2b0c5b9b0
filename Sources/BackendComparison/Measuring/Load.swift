internal import Glibc
internal import Synchronization

/// Other work on the machine while rows tick.
package enum Load: Hashable, Sendable {
    /// No other work of ours.
    case idle
    /// A number of other programs that spin.
    case cpu(Int)
    /// As many of them as this process may use processors, and as its quota has room for.
    case busy

    /// A greater number is a typing error.
    private static let mostPrograms = 256

    /// Reads a load: `idle`, `busy`, `cpu` or `cpu:2`.
    package static func parse(_ text: String) throws(Failure) -> Load {
        switch text {
        case "idle": return .idle
        case "busy": return .busy
        case "cpu": return .cpu(1)
        default:
            guard text.hasPrefix("cpu:") else {
                throw Failure.invalid("the loads are idle, busy, cpu and cpu:PROGRAMS")
            }
            guard let count = Int(text.dropFirst(4)), (1...mostPrograms).contains(count) else {
                throw Failure.invalid("write 1 to \(mostPrograms) programs, as a whole number")
            }
            return .cpu(count)
        }
    }

    /// The number of programs of `busy`: one for each processor that the process may use. They belong to the control
    /// group of this process, so more programs than its quota allows processors would only be stopped sooner.
    static func busyPrograms(on processors: Int, quota: Double?) -> Int {
        let room = max(processors, 1)
        guard let quota, quota < Double(room) else { return room }
        return Int(max(quota.rounded(.up), 1))
    }

    /// How long a load works before the first deadline of a turn.
    var lead: Duration { self == .idle ? .zero : .milliseconds(20) }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        switch self {
        case .idle: RowKey.idle
        case .busy: "busy"
        case .cpu(let programs): "cpu:\(programs)"
        }
    }
}

/// One use of a load: shells that do nothing but count. They stand still after the creation, and work from `begin()` to
/// `halt()`. They belong to the session of this process, so the kernel shares the processors out among them and it
/// alike; but they are ordinary programs, also if this process has a real-time policy.
///
/// They end with this object. If this process is killed, a shell that works notices within a tenth of a second that its
/// parent is gone, and ends. One that stands still gets SIGHUP, since its process group is then an orphan (setpgid(2)),
/// unless its new parent, the first process of a container, belongs to the same session. One that was about to stand
/// still at that very moment stays, and uses nothing. In any case, the kernel ends a shell that has worked for longer
/// than the load was planned to.
final class LoadRun: Sendable {
    private let load: Load
    private let programs: [Program]

    /// Makes a load ready that will work for some time at most. Throws `Failure` if the system refuses a process;
    /// no part of the load stays then.
    init(_ load: Load, for time: Duration) throws(Failure) {
        self.load = load
        let count =
            switch load {
            case .idle: 0
            case .cpu(let count): count
            case .busy:
                Load.busyPrograms(on: Processors.usable ?? Processors.online, quota: CPUQuota.current.limit)
            }
        var programs: [Program] = []
        for _ in 0..<count { programs.append(try Program(for: time)) }
        self.programs = programs
    }

    /// Why the load has ended by itself, in a few words; nil if it has not. A row under a load that has ended was
    /// measured without one.
    var failure: String? {
        programs.lazy.compactMap { $0.child.withLock { $0.poll() } }.first
            .map { "a program of the load \(load.name) ended: \($0)" }
    }

    /// Starts the work.
    func begin() { for program in programs { program.child.withLock { $0.resume() } } }

    /// Ends the work.
    func halt() { for program in programs { program.child.withLock { $0.pause() } } }

    /// One shell, killed with the object.
    private final class Program: Sendable {
        let child: Mutex<ChildProcess>

        init(for time: Duration) throws(Failure) {
            let child = try ChildProcess("/bin/sh", ["-c", busyScript(of: getpid(), for: time)])
            child.pause()
            self.child = Mutex(child)
        }
    }
}

/// Keeps a processor busy while the parent lives, and for no more than some seconds of processor time beyond `time`
/// (RLIMIT_CPU). A shell whose parent ended before it began has another one. It asks for the parent by a signal and not
/// in /proc, which may be that of another process namespace.
func busyScript(of parent: Int32, for time: Duration) -> String {
    """
    ulimit -t \(time.components.seconds + 10)
    while [ $PPID = \(parent) ] && kill -0 \(parent) 2>/dev/null; do
        i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done
    done
    """
}
