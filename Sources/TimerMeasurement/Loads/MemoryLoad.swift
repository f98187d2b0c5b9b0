/// Allocates, touches and frees blocks of mixed sizes without pause.
enum MemoryLoad {
    /// How many blocks are held at a time; the oldest is freed for a new one.
    private static let blocks = 128
    /// From 64 bytes, which the allocator has at hand, to a megabyte, for which it goes to the kernel: by powers of two.
    private static let sizes: ClosedRange<UInt64> = 6...20
    /// A store to each page makes the kernel find memory for it.
    private static let page = 4096

    /// Works until the flag is set.
    static func run(until isStopped: StopFlag) {
        var generator = SplitMix64(seed: 1)
        var held: [UnsafeMutableRawBufferPointer] = unsafe []
        unsafe held.reserveCapacity(blocks)
        var oldest = 0
        while !isStopped.isSet {
            let size = 1 << Int(generator.next() % UInt64(sizes.count) + sizes.lowerBound)
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
            for offset in stride(from: 0, to: size, by: page) { unsafe block[offset] = 1 }
            if unsafe held.count < blocks {
                unsafe held.append(block)
            } else {
                unsafe held[oldest].deallocate()
                unsafe held[oldest] = unsafe block
                oldest = (oldest + 1) % blocks
            }
        }
        while let block = unsafe held.popLast() { unsafe block.deallocate() }
    }
}
