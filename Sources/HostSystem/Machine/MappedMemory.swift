internal import Glibc

/// Memory that comes directly from the kernel and goes back to it at once. No allocator keeps it.
@safe package struct MappedMemory: ~Copyable {
    private let start: UnsafeMutableRawPointer
    private let count: Int

    /// Maps some bytes; nil if the kernel refuses them.
    package init?(byteCount: Int) {
        let start = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else { return nil }
        unsafe self.start = start
        count = byteCount
    }

    deinit { unsafe munmap(start, count) }

    /// Writes to each page. The kernel must find memory for a page at its first write.
    package func touch() {
        for offset in stride(from: 0, to: count, by: 4096) {
            unsafe start.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
        }
    }
}
