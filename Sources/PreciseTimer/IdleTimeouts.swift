internal import Synchronization
internal import TimerAlarms
internal import TimerKernel

/// Time-outs by key: of connections that say nothing, of sessions, of entries of a cache.
///
/// ```swift
/// let timeouts = IdleTimeouts<Connection.ID>(target: server) { server, id in server.close(id) }
/// timeouts.refresh(id, after: .seconds(30))       // with each byte that arrives
/// timeouts.cancel(id)                             // the connection was closed
/// ```
///
/// The handler is called once for each time-out that passes, with its key, which is then forgotten. If a refresh comes
/// before the handler is called, even if the tick is already on its way, the time-out is postponed. A service that is
/// shut down ends its time-outs without a call.
///
/// Keep the object: when it is released, all time-outs end. All members may be used from any thread, and from inside
/// the handler. No lock is held while the handler runs. `==` and `hash(into:)` of the keys are called under the lock of
/// this object, and must not use it. In a forked child, the parent's time-outs do not exist, and none can be set.
///
/// Each key has one timer on the service, and the keys share the handler. To postpone a time-out takes constant time,
/// and makes no system call.
public final class IdleTimeouts<Key: Hashable & Sendable>: Sendable {
    /// A key with a time-out, which is the target of its timer.
    private final class Entry: Sendable, WithoutLastTick {
        let key: Key
        weak let owner: IdleTimeouts?
        /// The deadline of the tick that is removing the entry, or has removed it; 0 if there is none. Set before the
        /// timer is asked whether it was set again, so that a thread that sets it again, and then does not find this
        /// set, came first.
        let expiring = Atomic<UInt64>(0)

        init(_ key: Key, _ owner: IdleTimeouts) {
            self.key = key
            self.owner = owner
        }
    }

    private struct Slot {
        let entry: Entry
        let timer: PreciseTimer
    }

    private let slots = Lock<[Key: Slot]>([:])
    private let service: TimerService
    private let tolerance: Duration
    private let delivery: PreciseTimer.Delivery
    private let label: String?
    private let file: StaticString
    private let line: UInt
    private let handler: @Sendable (Key) -> Void
    /// The handler of all timers. Made once, because it would be an allocation for each key.
    private let onTick: @Sendable (Entry, PreciseTimer.Tick) -> Void = { $0.owner?.expire($0, $1.deadline) }

    /// Time-outs on a service. The handler's captures live as long as this object: capture its owner weakly, or use the
    /// form with a target.
    ///
    /// - Parameters:
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. If it is negative, no time-out can be set.
    ///   - deliver: where the handler runs. On a concurrent queue, calls for two keys may overlap.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    ///   - handler: called with the key of a time-out that has passed.
    public init(
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: PreciseTimer.Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (Key) -> Void
    ) {
        self.service = service
        self.tolerance = tolerance
        delivery = deliver
        self.label = label
        self.file = file
        self.line = line
        self.handler = handler
    }

    /// Time-outs for a target, which is not retained. If it has been released, the handler is not called.
    ///
    /// Otherwise like the form without a target, which describes the parameters.
    public convenience init<Target: AnyObject & Sendable>(
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: PreciseTimer.Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (Target, Key) -> Void
    ) {
        self.init(on: service, tolerance: tolerance, deliver: deliver, label: label, file: file, line: line) {
            [weak target] key in if let target { handler(target, key) }
        }
    }

    deinit { cancelAll() }

    // MARK: Setting and cancelling

    /// Sets the time-out of a key, or postpones it. It then passes `timeout` after this call.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - timeout: the time from now to the time-out; zero is due now.
    /// - Returns: true if the time-out is set. False for a negative time, which leaves an earlier time-out as it was;
    ///   if the service refuses a timer, as after its shutdown; and in a forked child.
    @discardableResult
    public func refresh(_ key: Key, after timeout: Duration) -> Bool {
        if timeout < .zero || slots.isOfAnotherProcess { return false }
        while true {
            guard let slot = slots.withLock({ $0[key] }) ?? add(key) else { return false }
            // An instant, which tells a tick for it from one for an earlier time-out.
            let deadline = service.now.advanced(by: timeout)
            do throws(TimerError) {
                try slot.timer.reschedule(.once(at: deadline))
                let expiring = slot.entry.expiring.load(ordering: .sequentiallyConsistent)
                if expiring == 0 || expiring == deadline.nanoseconds { return true }
                // Another thread decides just now whether an earlier time-out has passed. Ask again after that.
            } catch {
                // The key was removed in the meantime, or the service has ended, or is about to end this timer.
                if holds(slot) { removeEnded() }
                if error.code != .timerEnded || holds(slot) { return false }
            }
        }
    }

    /// Ends the time-out of a key. Returns true if that was before it passed: the handler is not called for it.
    @discardableResult
    public func cancel(_ key: Key) -> Bool {
        let slot = slots.withLock(inForkedChild: nil) { $0.removeValue(forKey: key) }
        return slot?.timer.cancel() ?? false
    }

    /// Ends all time-outs. O(n).
    public func cancelAll() {
        let all: [Key: Slot] = slots.withLock(inForkedChild: [:]) { slots in
            defer { slots = [:] }
            return slots
        }
        for slot in all.values { slot.timer.cancel() }
    }

    // MARK: Facts

    /// The number of keys with a time-out that has not passed. O(n), because a service that was shut down has ended its
    /// timers.
    public var count: Int {
        let all = slots.withLock(inForkedChild: [:]) { $0 }
        return all.values.count { $0.timer.state == .scheduled }
    }

    /// The number of keys, with those whose timers the service has ended.
    var size: Int { slots.withLock(inForkedChild: 0) { $0.count } }

    /// Whether a key has a time-out that has not passed.
    public func contains(_ key: Key) -> Bool {
        slots.withLock(inForkedChild: nil) { $0[key] }?.timer.state == .scheduled
    }

    // MARK: Entries

    /// Adds a key whose timer rests. Returns nil if the service refuses a timer.
    private func add(_ key: Key) -> Slot? {
        let entry = Entry(key, self)
        let timer = try? PreciseTimer.schedule(
            .onDemand,
            on: service,
            tolerance: tolerance,
            deliver: delivery,
            label: label,
            file: file,
            line: line,
            target: entry,
            handler: onTick
        )
        guard let timer else { return nil }
        let (slot, isOurs) = slots.withLock { slots -> (Slot, Bool) in
            if let other = slots[key] { return (other, false) }
            let slot = Slot(entry: entry, timer: timer)
            slots[key] = slot
            return (slot, true)
        }
        if !isOurs { timer.cancel() }
        return slot
    }

    /// Whether a slot is still that of its key.
    private func holds(_ slot: Slot) -> Bool {
        slots.withLock(inForkedChild: false) { $0[slot.entry.key]?.entry === slot.entry }
    }

    /// Removes the keys whose timers the service has ended.
    private func removeEnded() {
        let all = slots.withLock(inForkedChild: [:]) { $0 }
        let ended = all.values.filter { $0.timer.state != .scheduled }
        for slot in ended {
            slots.withLock(inForkedChild: ()) { slots in
                if slots[slot.entry.key]?.entry === slot.entry { slots[slot.entry.key] = nil }
            }
        }
    }

    /// Called when the tick of an entry is delivered.
    private func expire(_ entry: Entry, _ deadline: TimerInstant) {
        guard let expired = expired(entry, deadline) else { return }
        expired.timer.cancel()
        handler(entry.key)
    }

    /// Removes an entry and returns it, unless it was cancelled or refreshed since its tick was due.
    private func expired(_ entry: Entry, _ deadline: TimerInstant) -> Slot? {
        slots.withLock(inForkedChild: nil) { slots in
            guard let slot = slots[entry.key], slot.entry === entry else { return nil }
            entry.expiring.store(deadline.nanoseconds, ordering: .sequentiallyConsistent)
            if slot.timer.nextDeadline == nil { return slots.removeValue(forKey: entry.key) }
            entry.expiring.store(0, ordering: .sequentiallyConsistent)
            return nil
        }
    }
}
