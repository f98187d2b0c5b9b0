internal import CTimerKernel

/// A sleep with a time-out, which another thread can end: ppoll(2) on an eventfd (see eventfd(2)).
///
/// If the process closes the descriptor from outside, its number may belong to another file. So the value looks whether
/// the number still belongs to a file of this kind before it writes or reads eight bytes there.
final class WakeUp: Sendable {
    private let number: CInt
    private let claim: DescriptorClaim
    /// All eventfds have the same, and ordinary files, sockets and pipes have others.
    private let file: UInt64?

    init() throws(TimerError) {
        switch SystemCall.retrying({ event_create_closing() }) {
        case .success(let number):
            self.number = number
            claim = DescriptorClaim(number)
            file = Self.file(of: number)
        case .failure(let errno): throw errno.error(attempting: "creating an eventfd")
        }
    }

    deinit { claim.close() }

    /// Ends the sleep, or the next one if the thread is awake.
    ///
    /// - Throws: `TimerError` if the descriptor is lost.
    func signal() throws(TimerError) {
        guard isOurs else { throw failure(Errno(EBADF), "signalling an eventfd") }
        var one: UInt64 = 1
        // A full counter is a signal, too.
        _ = unsafe write(number, &one, 8)
    }

    /// Sleeps for some nanoseconds, until a signal, or until a timer of the calling thread expires. Signals of the
    /// system end it, too.
    ///
    /// - Throws: `TimerError` if one of the descriptors is lost.
    func wait(_ nanoseconds: UInt64, orFor timer: CInt?) throws(TimerError) {
        var length = timespec(nanoseconds: nanoseconds)
        let readable = unsafe poll_either(number, timer ?? -1, &length)
        if readable < 0 {
            let errno = Errno(last_error())
            if errno.number != EINTR { throw failure(errno, "waiting for an eventfd") }
        } else if readable & 1 != 0 {
            guard isOurs else { throw failure(Errno(EBADF), "waiting for an eventfd") }
            var signals: UInt64 = 0
            _ = unsafe read(number, &signals, 8)
        }
    }

    private var isOurs: Bool { !claim.isLost && Self.file(of: number) == file }

    private func failure(_ errno: Errno, _ attempted: String) -> TimerError {
        if errno.number == EBADF { claim.lose() }
        return errno.error(.backendFailed, attempting: attempted)
    }

    /// The number of the file within its file system, and that system; nil if there is no such file.
    static func file(of number: CInt) -> UInt64? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { return nil }
        return UInt64(status.st_ino) ^ UInt64(status.st_dev) << 32
    }
}

/// Checks that the process can make the event loops, and open the descriptors, that a library is about to need, if that
/// library would end the process without them.
package enum EventLoopTrial {
    /// Makes event loops as a library does, one inside the other, and closes them again. Each loop is an epoll that
    /// watches an event descriptor and a timer. Another thread may take the descriptors in between, so the check
    /// shrinks the danger to a moment but cannot remove it.
    ///
    /// - Parameters:
    ///   - count: the number of loops.
    ///   - spare: the number of additional descriptors that must be available.
    /// - Throws: `TimerError`, which names the refused resource.
    package static func check(_ count: Int = 0, spare: Int = 0) throws(TimerError) {
        if count == 0 {
            if spare == 0 { return }
            let descriptor = try TimerDescriptor(.suspending)
            try check(spare: spare - 1)
            _ = consume descriptor
            return
        }
        let epoll = try Descriptor("creating an epoll") { epoll_create_closing() }
        let event = try Descriptor("creating an eventfd") { event_create_closing() }
        let timer = try TimerDescriptor(.suspending)
        try epoll.watch(event.number)
        try epoll.watch(timer.number)
        try check(count - 1, spare: spare)
        _ = consume epoll
        _ = consume event
        _ = consume timer
    }

    /// A descriptor of the trial, which closes with the value.
    private struct Descriptor: ~Copyable {
        let number: CInt

        init(_ attempted: String, _ make: () -> CInt) throws(TimerError) {
            switch SystemCall.retrying(make) {
            case .success(let number): self.number = number
            case .failure(let errno): throw errno.error(attempting: attempted)
            }
        }

        deinit { close(number) }

        /// Makes an epoll watch a descriptor.
        borrowing func watch(_ other: CInt) throws(TimerError) {
            let epoll = number
            if case .failure(let errno) = SystemCall.retrying({ epoll_watch(epoll, other) }) {
                throw errno.error(attempting: "adding a descriptor to an epoll")
            }
        }
    }
}
