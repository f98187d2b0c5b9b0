#if os(Linux) && !KQUEUE
internal import CTimerKernel

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
#endif
