#if canImport(Darwin) || KQUEUE
/// What the kernel says of a thread of this process: nothing yet on a Mac.
struct ThreadState {
    let isRunnable: Bool
    let ran: UInt64

    init?(of thread: some CustomStringConvertible) { nil }

    static var anyIsStopped: Bool { false }
}
#endif
