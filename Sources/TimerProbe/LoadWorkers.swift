internal import Dispatch
internal import Glibc
internal import HostSystem
internal import Synchronization
internal import TimerResults

/// A thread that waits until it may work, works until it must stop, and then waits until its account has been read.
final class LoadThread: Sendable {
    private let thread: KernelThread
    private let isHalted = StopFlag()
    private let endedEarly = StopFlag()
    private let begun = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let dismissed = DispatchSemaphore(value: 0)
    private let phase = Mutex(Phase.waiting)

    private enum Phase { case waiting, working, halted, dismissed }

    /// Starts a thread with a name of at most 15 bytes. Returns when it waits. Its work must return soon after the flag
    /// is set. Throws `SystemError` if the system refuses it.
    init(_ name: String, _ work: @escaping @Sendable (StopFlag) -> Void) throws(SystemError) {
        thread = try KernelThread.start(name) { [isHalted, endedEarly, begun, ended, dismissed] in
            begun.wait()
            if !isHalted.isSet {
                work(isHalted)
                if !isHalted.isSet { endedEarly.set() }
            }
            ended.signal()
            dismissed.wait()
        }
        awaitSleep()
    }

    deinit { stop() }

    /// The kernel's bill up to now; nil after the end, or if the kernel does not show it.
    var usage: ResourceUsage? { thread.usage }

    /// Whether the work ended although it was not told to.
    var hasEndedEarly: Bool { endedEarly.isSet }

    func begin() { if go(from: .waiting, to: .working) { begun.signal() } }

    func halt() {
        isHalted.set()
        begin()
        guard go(from: .working, to: .halted) else { return }
        ended.wait()
        awaitSleep()
    }

    func stop() {
        halt()
        if go(from: .halted, to: .dismissed) { dismissed.signal() }
    }

    private func go(from old: Phase, to new: Phase) -> Bool {
        phase.withLock { phase in
            guard phase == old else { return false }
            phase = new
            return true
        }
    }

    /// Waits until the thread sleeps: its account counts the switch to sleep, too. Gives up after some tenths of a
    /// second, on a machine that does not let the thread run.
    private func awaitSleep() {
        for _ in 0..<2_000 where !thread.isAsleep { SystemClock.sleep(for: .microseconds(100)) }
    }
}

/// Allocates, touches and frees blocks of mixed sizes without pause, until the flag is set.
enum MemoryLoad {
    /// The number of small blocks that are held at a time. A new block replaces the oldest.
    private static let blocks = 128
    /// From 64 bytes to a megabyte, as powers of two.
    private static let sizes: ClosedRange<UInt64> = 6...20
    /// Blocks of this size or more come from the kernel. An allocator would keep them.
    private static let mapped = 1 << 17

    static func run(until isStopped: StopFlag) {
        var generator = SplitMix64(seed: 1)
        var held: [[UInt8]] = Array(repeating: [], count: blocks)
        var oldest = 0
        while !isStopped.isSet {
            let size = 1 << Int(generator.next() % UInt64(sizes.count) + sizes.lowerBound)
            if size >= mapped {
                MappedMemory(byteCount: size)?.touch()
            } else {
                held[oldest] = [UInt8](repeating: 1, count: size)
                oldest = (oldest + 1) % blocks
            }
        }
    }
}

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
            let child = try ChildProcess("/bin/sh", ["-c", busyScript(of: getpid())])
            child.pause()
            self.child = Mutex(child)
        }
    }
}

/// Keeps a processor busy while the parent lives. A shell whose parent ended before it began has another one. It asks
/// for the parent by a signal and not in /proc, which may be that of another process namespace.
package func busyScript(of parent: Int32) -> String {
    """
    while [ $PPID = \(parent) ] && kill -0 \(parent) 2>/dev/null; do
        i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done
    done
    """
}
