internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// A request that the system refused, in one line: what was attempted, and the system's reason.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let description: String

    /// What was attempted, as in `opening results.json`, and in a few words why it failed.
    package init(_ attempted: String, _ reason: String) { description = "\(attempted): \(reason)" }

    init(_ attempted: String, _ errno: Errno) {
        self.init(attempted, "\(unsafe String(cString: strerror(errno.number))) (errno \(errno.number))")
    }

    /// The error of the C call before. It takes the error number first, since the making of a text may change it.
    static func last(_ attempted: @autoclosure () -> String) -> SystemError {
        let errno = Errno(errno)
        return SystemError(attempted(), errno)
    }

    /// Runs system calls.
    static func attempting<Outcome>(
        _ attempted: String,
        _ body: () throws(Errno) -> Outcome
    ) throws(SystemError) -> Outcome {
        do throws(Errno) { return try body() } catch { throw SystemError(attempted, error) }
    }
}

/// The running kernel's own description (uname(2)).
package struct SystemName: Hashable, Sendable {
    /// For example `Linux`.
    package let system: String
    /// For example `6.12.0-amd64`.
    package let release: String
    /// When and how the kernel was built, for example `#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1`.
    package let version: String
    /// For example `x86_64`.
    package let machine: String

    package init() {
        var name = utsname()
        unsafe uname(&name)
        (system, release) = (String(characters: name.sysname), String(characters: name.release))
        (version, machine) = (String(characters: name.version), String(characters: name.machine))
    }
}

extension String {
    /// The text of a fixed array, which Swift sees as a tuple of characters.
    init(characters: some Any) {
        self = unsafe withUnsafeBytes(of: characters) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

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
