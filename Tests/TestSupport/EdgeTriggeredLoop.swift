#if os(Linux) && !KQUEUE
internal import CTimerKernel

/// An epoll that tells of each expiry once, to one of the threads that wait for it.
package final class EdgeTriggeredLoop: Sendable {
    private let epoll = epoll_create1(0)

    package init() {}
    deinit { close(epoll) }

    package func watch(_ descriptor: CInt) {
        var event = unsafe epoll_event()
        unsafe event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        _ = unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// Whether an expiry is told within some milliseconds.
    package func isTold(within milliseconds: CInt) -> Bool {
        var event = unsafe epoll_event()
        return unsafe epoll_wait(epoll, &event, 1, milliseconds) == 1
    }
}
#endif
