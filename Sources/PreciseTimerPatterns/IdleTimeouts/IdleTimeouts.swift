public import PreciseTimer
internal import Synchronization
internal import TimerKernel

/// Time-outs by key, for silent connections, sessions or cache entries.
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
/// A process that stood still, in a debugger or with its machine, finds time-outs due although bytes have arrived that
/// its readers have had no time to read. So a time-out that comes more than 100 ms late waits as long again, at most a
/// second, and once; others that come due during that wait for its end, too. A refresh in this time counts. The form
/// whose handler gets the tick does not wait: the handler decides. Two arrangements need no wait: deliver on the queue
/// that reads, or call `process()` of a pollable service after reading.
///
/// Keep the object: when it is released, all time-outs end. A bag that holds it ends them, too; the next refresh of a
/// key then sets a new time-out, which that bag no longer holds. All members may be used from any thread, and from
/// inside the handler. No lock is held while the handler runs. `==` and `hash(into:)` of the keys are called under the
/// lock of this object: if they use it, the process ends. In a forked child, the parent's time-outs do not exist, and
/// none can be set.
///
/// Each key has one timer on the service, and the keys share the handler. To postpone a time-out takes constant time,
/// and makes no system call.
public final class IdleTimeouts<Key: Hashable & Sendable>: Sendable {
    /// What a handler is called with.
    private typealias Expiry<Target> = (target: Target, key: Key, tick: PreciseTimer.Tick)

    /// A key with a time-out, which is the target of its timer.
    private final class Entry: Sendable {
        let key: Key
        weak let owner: IdleTimeouts?
        /// The deadline of the tick that is removing the entry, or has removed it; 0 if there is none. Set before the
        /// timer is asked whether it was set again, so that a thread that sets it again, and then does not find this
        /// set, came first.
        let expiring = Atomic<UInt64>(0)
        /// Whether it has waited after a standstill, and was not refreshed since. Then the extra tick of the end of the
        /// wait lets it pass; one of `finish()` does not.
        let hasWaited = Atomic(false)

        init(_ key: Key, _ owner: IdleTimeouts) {
            self.key = key
            self.owner = owner
        }
    }

    private struct Slot {
        let entry: Entry
        let timer: PreciseTimer
    }

    private struct State {
        var slots: [Key: Slot] = [:]
        /// The timers whose time-out has passed, while the handler runs.
        var running: [ObjectIdentifier: PreciseTimer] = [:]
        /// The keys that came due after a standstill, and wait.
        var waiting: [Slot] = []
        /// At its tick, the wait is over.
        var wait: PreciseTimer?
        /// The number of keys at which those are removed next whose timers have ended, with their service or a bag.
        var limit = 64
    }

    private let state = Lock(State())
    private let options: PatternOptions
    /// Whether time-outs wait after a standstill.
    private let mayWait: Bool
    /// Schedules the timer of an entry. Made once, because it would be an allocation for each key.
    private let schedule: @Sendable (Entry) throws(TimerError) -> PreciseTimer

    /// Time-outs for a target, which is not retained. If it has been released, the handler is not called: `{ server, id
    /// in server.close(id) }`, or `{ @MainActor model, id in model.close(id) }`.
    ///
    /// - Parameters:
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. If it is negative, no time-out can be set.
    ///   - deliver: where the handler runs; one that is isolated to an actor runs on that actor instead. On a
    ///     concurrent queue, calls for two keys may overlap.
    ///   - label: a name for `TimerService.activeTimers`.
    ///   - file: the file that `TimerService.activeTimers` names.
    ///   - line: the line that `TimerService.activeTimers` names.
    ///   - target: the object that the handler receives.
    ///   - handler: called with the target, and the key of a time-out that has passed.
    public convenience init<Target: AnyObject & Sendable>(
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: PreciseTimer.Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @isolated(any) @Sendable (Target, Key) -> Void
    ) {
        let actor = { @Sendable [actor = handler.isolation] in actor }
        let plain = calledInPlace(handler).map { call in { @Sendable (it: Expiry<Target>) in call(it.target, it.key) } }
        let handler = PatternHandler(place: deliver, plain: plain, actor: actor) { await handler($1.target, $1.key) }
        self.init((service, tolerance, label, file, line), target, handler)
    }

    /// Time-outs for a target whose handler also gets the tick, which says how late the time-out is:
    /// `{ server, id, tick in server.close(id, late: tick.lateness) }`. It is called at once after a standstill, too,
    /// and may refresh the key instead. Otherwise like the form without the tick.
    public convenience init<Target: AnyObject & Sendable>(
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: PreciseTimer.Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @isolated(any) @Sendable (Target, Key, PreciseTimer.Tick) -> Void
    ) {
        let actor = { @Sendable [actor = handler.isolation] in actor }
        let plain = calledInPlace(handler)
            .map { call in { @Sendable (it: Expiry<Target>) in call(it.target, it.key, it.tick) } }
        let handler = PatternHandler(place: deliver, plain: plain, actor: actor) {
            await handler($1.target, $1.key, $1.tick)
        }
        self.init((service, tolerance, label, file, line), target, handler, mayWait: false)
    }

    /// Time-outs for a target whose handler awaits: `{ server, id in await server.close(id) }`. It runs in a task, on
    /// its actor if it is isolated to one. Otherwise like the first form.
    public convenience init<Target: AnyObject & Sendable>(
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @isolated(any) @Sendable (Target, Key) async -> Void
    ) {
        let actor = { @Sendable [actor = handler.isolation] in actor }
        let handler = PatternHandler<Expiry<Target>>(actor: actor) { await handler($1.target, $1.key) }
        self.init((service, tolerance, label, file, line), target, handler)
    }

    /// Time-outs for an actor. The handler is isolated to it, and awaits: `{ server, id in await server.close(id) }`.
    /// One that awaits nothing says `async`: `{ server, id async in server.close(id) }`. Otherwise like the first form.
    public convenience init<Target: Actor>(
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (isolated Target, Key) async -> Void
    ) {
        let actor = { @Sendable [weak target] in target as (any Actor)? }
        let handler = PatternHandler<Expiry<Target>>(actor: actor) { await handler($1.target, $1.key) }
        self.init((service, tolerance, label, file, line), target, handler)
    }

    private init<Target: AnyObject & Sendable>(
        _ options: PatternOptions,
        _ target: Target,
        _ handler: PatternHandler<Expiry<Target>>,
        mayWait: Bool = true
    ) {
        (self.options, self.mayWait) = (options, mayWait)
        let done = { @Sendable (entry: Entry) in _ = entry.owner?.returned(entry) }
        schedule = handler.timers(options, done: done) { [weak target] entry, tick in
            guard let owner = entry.owner, owner.expire(entry, tick) else { return nil }
            if let target { return (target, entry.key, tick) }
            owner.returned(entry)
            return nil
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
    @discardableResult public func refresh(_ key: Key, after timeout: Duration) -> Bool {
        if timeout < .zero || state.isOfAnotherProcess { return false }
        while true {
            guard let slot = state.withLock({ $0.slots[key] }) ?? add(key) else { return false }
            // An instant, which tells a tick for it from one for an earlier time-out. No timer waits for never.
            let now = options.service.now
            let deadline = min(now.advanced(by: timeout), TimerInstant(nanoseconds: .max - 1, clock: now.clock))
            do throws(TimerError) {
                try slot.timer.reschedule(.once(at: deadline))
                slot.entry.hasWaited.store(false, ordering: .relaxed)
                let expiring = slot.entry.expiring.load(ordering: .sequentiallyConsistent)
                if expiring == 0 || expiring == deadline.nanoseconds { return true }
                // Another thread decides just now whether an earlier time-out has passed. Ask again after that.
            } catch {
                if error.code != .timerEnded { return false }
                // The key was removed in the meantime, or its timer ended, with its service or a bag. Is there a new
                // one?
                remove(slot)
            }
        }
    }

    /// Ends the time-out of a key. Returns true if that was before it passed: the handler is not called for it.
    @discardableResult public func cancel(_ key: Key) -> Bool {
        let slot = state.withLock(inForkedChild: nil) { $0.slots.removeValue(forKey: key) }
        return slot?.timer.cancel() ?? false
    }

    /// Ends all time-outs. O(n).
    public func cancelAll() {
        let all = state.withLock(inForkedChild: State()) { state in
            defer { (state.slots, state.waiting, state.wait) = ([:], [], nil) }
            return state
        }
        for slot in all.slots.values { slot.timer.cancel() }
        all.wait?.cancel()
    }

    // MARK: Facts

    /// The number of keys with a time-out that has not passed. O(n), because a service that was shut down has ended its
    /// timers.
    public var count: Int { all.values.count { !$0.timer.hasEnded } }

    /// Whether a key has a time-out that has not passed.
    public func contains(_ key: Key) -> Bool {
        state.withLock(inForkedChild: nil) { $0.slots[key] }?.timer.hasEnded == false
    }

    private var all: [Key: Slot] { state.withLock(inForkedChild: [:]) { $0.slots } }

    // MARK: Entries

    /// Adds a key whose timer rests. Returns nil if the service refuses a timer.
    private func add(_ key: Key) -> Slot? {
        letEndedOnesGo()
        let entry = Entry(key, self)
        guard let timer = try? schedule(entry) else { return nil }
        let (slot, isOurs) = state.withLock { state -> (Slot, Bool) in
            if let other = state.slots[key] { return (other, false) }
            let slot = Slot(entry: entry, timer: timer)
            state.slots[key] = slot
            return (slot, true)
        }
        if !isOurs { timer.cancel() }
        return slot
    }

    /// Removes a slot, if it is still that of its key.
    private func remove(_ slot: Slot) {
        state.withLock(inForkedChild: ()) { state in
            if state.slots[slot.entry.key]?.entry === slot.entry { state.slots[slot.entry.key] = nil }
        }
        slot.timer.cancel()
    }

    /// Removes the slots of timers that have ended, if the slots have doubled.
    private func letEndedOnesGo() {
        let full: [Key: Slot]? = state.withLock(inForkedChild: nil) { $0.slots.count >= $0.limit ? $0.slots : nil }
        guard let full else { return }
        for slot in full.values where slot.timer.hasEnded { remove(slot) }
        state.withLock { $0.limit = max(64, $0.slots.count * 2) }
    }

    /// Called when the tick of an entry is delivered. Removes the entry, and returns true, unless it was cancelled or
    /// refreshed since its tick was due, it waits, or its timer has ended, with its service or a bag.
    private func expire(_ entry: Entry, _ tick: PreciseTimer.Tick) -> Bool {
        if tick.isExtra, !entry.hasWaited.exchange(false, ordering: .relaxed) { return false }
        let (waits, delay) = (mayWait && !tick.isExtra, tick.lateness - options.tolerance)
        var beginsWait = false
        let expired: Slot? = state.withLock(inForkedChild: nil) { state in
            guard let slot = state.slots[entry.key], slot.entry === entry else { return nil }
            entry.expiring.store(tick.deadline.nanoseconds, ordering: .sequentiallyConsistent)
            if slot.timer.nextDeadline == nil, !slot.timer.hasEnded {
                if !waits || state.waiting.isEmpty && delay <= .milliseconds(100) {
                    state.running[ObjectIdentifier(entry)] = slot.timer
                    return state.slots.removeValue(forKey: entry.key)
                }
                beginsWait = state.waiting.isEmpty
                state.waiting.append(slot)
            }
            entry.expiring.store(0, ordering: .sequentiallyConsistent)
            return nil
        }
        if beginsWait { beginWait(min(delay, .seconds(1))) }
        expired?.timer.cancel()
        return expired != nil
    }

    /// Lets the keys wait that came due after a standstill. Their timers rest: a refresh sets them as always.
    private func beginWait(_ length: Duration) {
        let wait = try? PreciseTimer.schedule(
            .once(after: length),
            on: options.service,
            label: options.label,
            file: options.file,
            line: options.line,
            target: self
        ) { timeouts, _ in timeouts.endWait() }
        guard let wait else { return endWait() }
        state.withLock(inForkedChild: ()) { $0.wait = wait }
    }

    /// Lets the keys pass that were not refreshed while they waited.
    private func endWait() {
        let waiting: [Slot] = state.withLock(inForkedChild: []) { state in
            defer { (state.waiting, state.wait) = ([], nil) }
            return state.waiting
        }
        for slot in waiting where slot.timer.nextDeadline == nil {
            slot.entry.hasWaited.store(true, ordering: .relaxed)
            slot.timer.fire()
        }
    }

    /// Called when the handler of an entry has returned.
    private func returned(_ entry: Entry) {
        let timer = state.withLock(inForkedChild: nil) { $0.running.removeValue(forKey: ObjectIdentifier(entry)) }
        withExtendedLifetime(timer) {}
    }
}

extension IdleTimeouts: TimerHolder {
    /// The timers of its keys, and of handlers that are running. Those that a service or a bag has ended may be among
    /// them.
    public var timers: [PreciseTimer] {
        state.withLock(inForkedChild: []) { $0.slots.values.map(\.timer) + $0.running.values }
    }

    /// Always false, because new keys may come.
    public var hasEnded: Bool { false }
}

extension IdleTimeouts: CustomStringConvertible, CustomReflectable {
    /// The number of keys, with those whose timers have ended with their service or a bag.
    public var description: String { all.count == 1 ? "time-outs of 1 key" : "time-outs of \(all.count) keys" }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
