internal import Dispatch
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
