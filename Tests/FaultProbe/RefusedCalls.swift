import Glibc

/// The preloaded library that refuses calls, if the test has preloaded it.
enum RefusedCalls {
    private typealias Arm = @convention(c) (UnsafePointer<CChar>, CInt, CInt, CInt) -> Void
    private typealias Disarm = @convention(c) () -> Void
    private typealias Count = @convention(c) () -> CInt

    /// Makes calls fail from now on, as CALLS:ERROR:SKIPPED:TIMES says: `epoll_wait:9:0:1`. Returns false if the
    /// library is not loaded.
    static func arm(_ text: String) -> Bool {
        let parts = text.split(separator: ":").map(String.init)
        let numbers = parts.dropFirst().compactMap { CInt($0) }
        guard numbers.count == 3, let address = unsafe dlsym(nil, "fault_arm") else { return false }
        unsafe unsafeBitCast(address, to: Arm.self)(parts[0], numbers[0], numbers[1], numbers[2])
        return true
    }

    /// Lets all calls through again.
    static func disarm() {
        guard let address = unsafe dlsym(nil, "fault_disarm") else { return }
        unsafe unsafeBitCast(address, to: Disarm.self)()
    }

    /// How often a real-time thread has yielded the processor; nil if the library is not loaded.
    static var yields: Int? {
        guard let address = unsafe dlsym(nil, "yield_count") else { return nil }
        return unsafe Int(unsafeBitCast(address, to: Count.self)())
    }

    /// The number of failed calls.
    static var count: Int {
        guard let address = unsafe dlsym(nil, "fault_count") else { return 0 }
        return unsafe Int(unsafeBitCast(address, to: Count.self)())
    }
}
