internal import HostSystem
internal import TimerResults

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
