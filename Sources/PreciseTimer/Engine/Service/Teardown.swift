internal import TimerAlarms
internal import TimerKernel

/// What a decision leaves to be done without the lock, because it calls or releases what is the user's, or takes long.
/// A decision fills it under the lock, and ``ServiceCore/perform(_:)`` does it all afterwards, once.
struct Teardown: ~Copyable {
    /// What few teardowns have.
    final class More {
        /// The alarm of a service that ends, and the former phase, which may hold an alarm, too.
        var alarm: (any TimerAlarm)?
        var phase: ServiceState.Phase?
        /// The tasks of running handlers, which must be cancelled.
        var tasks: [TaskDestination] = []
        /// Further timers that have ended.
        var timers: [Record] = []
        /// Those who wait for the last handler of a timer that goes on.
        var waits: [HandlerWait] = []
        /// What may be the last reference to an object of the user.
        var released: [AnyObject] = []
        /// The failure of the backend, which ends all timers.
        var failure: Failure?
    }

    /// The failure of a backend.
    struct Failure {
        let error: TimerError
        /// The epoch of the service that failed.
        let epoch: Int
    }

    /// Whether nothing is left to be done.
    private(set) var isEmpty = true
    /// A timer that has ended, and whose handler is not running: it must be finalized.
    private(set) var timer: Record?
    /// The service, if its last timer has ended. It is released when all else is done.
    private(set) var service: AnyObject?
    private(set) var more: More?

    /// Leaves a timer that has ended to be finalized.
    @inline(__always) mutating func add(ended record: consuming Record) {
        if timer == nil { timer = record } else { needMore().timers.append(record) }
        isEmpty = false
    }

    /// Leaves the service to be released, if there is one.
    mutating func add(service: consuming AnyObject?) {
        guard let service else { return }
        self.service = service
        isEmpty = false
    }

    /// What few teardowns have, made if necessary.
    mutating func needMore() -> More {
        if let more { return more }
        let new = More()
        (more, isEmpty) = (new, false)
        return new
    }

    /// Returns what is left to be done, and leaves nothing.
    mutating func take() -> Teardown {
        let taken = consume self
        self = Teardown()
        return taken
    }
}

extension ServiceCore {
    /// Does what a decision has left. Called without the lock.
    func perform(_ teardown: borrowing Teardown) {
        if let more = teardown.more { beforeTheTimers(more) }
        teardown.timer?.finalize()
        if let more = teardown.more { afterTheFirst(more) }
    }

    // Not inlined: nearly all teardowns have one timer at most.
    @inline(never) private func beforeTheTimers(_ more: Teardown.More) {
        more.released = []
        if more.phase != nil {
            more.alarm?.stop()
            setup.release()
        }
        for task in more.tasks { task.cancel() }
    }

    @inline(never) private func afterTheFirst(_ more: Teardown.More) {
        for record in more.timers { record.finalize() }
        for wait in more.waits { wait.handlerReturned(goesOn: true) }
        if let failure = more.failure { fail(failure) }
    }
}
