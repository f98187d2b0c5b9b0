internal import Dispatch
internal import HostSystem
internal import Synchronization
internal import TimerResults

/// Threads that wait until they may work, work until they must stop, and then wait until their accounts have been
/// read.
final class LoadThreads: Sendable {
    private let crew: Crew
    private let threads: [KernelThread]
    private let phase = Mutex(Phase.waiting)

    private enum Phase { case waiting, working, halted, dismissed }

    /// Starts threads. Returns when all of them wait.
    ///
    /// - Parameters:
    ///   - count: the number of threads, at least one.
    ///   - name: the name of each thread, at most 15 bytes.
    ///   - work: the work of each thread after `begin()`. It must return soon after the flag is set.
    /// - Throws: `SystemError` if the system refuses a thread. The threads before it end soon then.
    init(_ count: Int, named name: String, _ work: @escaping @Sendable (StopFlag) -> Void) throws(SystemError) {
        let crew = Crew(count)
        self.crew = crew
        var threads: [KernelThread] = []
        do throws(SystemError) {
            for _ in 0..<count { threads.append(try KernelThread.start(name) { crew.run(work) }) }
        } catch {
            self.threads = threads
            phase.withLock { $0 = .dismissed }
            crew.isHalted.set()
            crew.begun.signal(count)
            crew.dismissed.signal(count)
            throw error
        }
        self.threads = threads
        awaitSleep()
    }

    deinit { stop() }

    /// The kernel's bill for all threads that have not ended.
    var usage: ResourceUsage { threads.reduce(.zero) { $0 + ($1.usage ?? .zero) } }

    func begin() { if go(from: .waiting, to: .working) { crew.begun.signal(crew.size) } }

    func halt() {
        crew.isHalted.set()
        begin()
        guard go(from: .working, to: .halted) else { return }
        crew.ended.wait()
        awaitSleep()
    }

    func stop() {
        halt()
        if go(from: .halted, to: .dismissed) { crew.dismissed.signal(crew.size) }
    }

    private func go(from old: Phase, to new: Phase) -> Bool {
        phase.withLock { phase in
            guard phase == old else { return false }
            phase = new
            return true
        }
    }

    /// Waits until all threads sleep: the account of each counts the switch to sleep, too. Gives up after some tenths
    /// of a second, on a machine that does not let the threads run.
    private func awaitSleep() {
        var patience = 2_000
        for thread in threads {
            while !thread.isAsleep, patience > 0 {
                patience -= 1
                SystemClock.sleep(for: .microseconds(100))
            }
        }
    }
}

/// The state that the threads share with their owner.
private final class Crew: Sendable {
    let size: Int
    let isHalted = StopFlag()
    /// Signalled once for each thread: to begin its work, and to end.
    let begun = DispatchSemaphore(value: 0)
    let dismissed = DispatchSemaphore(value: 0)
    /// Signalled when all threads have done their work. Only the last thread signals, so that the waiting thread wakes
    /// once.
    let ended = DispatchSemaphore(value: 0)
    /// How many threads still work. Acquiring and releasing: the last one has seen what all others have done.
    private let working: Atomic<Int>

    init(_ size: Int) {
        self.size = size
        working = Atomic(size)
    }

    /// The life of one thread.
    func run(_ work: (StopFlag) -> Void) {
        begun.wait()
        if !isHalted.isSet { work(isHalted) }
        if working.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.signal() }
        dismissed.wait()
    }
}

extension DispatchSemaphore {
    fileprivate func signal(_ count: Int) { for _ in 0..<count { signal() } }
}

/// Allocates, touches and frees blocks of mixed sizes without pause.
enum MemoryLoad {
    /// The number of small blocks that are held at a time. A new block replaces the oldest.
    private static let blocks = 128
    /// From 64 bytes to a megabyte, as powers of two.
    private static let sizes: ClosedRange<UInt64> = 6...20
    /// Blocks of this size or more come from the kernel. An allocator would keep them.
    private static let mapped = 1 << 17

    /// Works until the flag is set.
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
