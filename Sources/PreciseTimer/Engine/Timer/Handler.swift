internal import TimerKernel

/// The function that is called for a tick, of one of two kinds, by the destination of the tick: a plain function, which
/// is called on the thread where the tick arrives and may throw, or one that is called in a task.
///
/// Types are erased by casts bit for bit. They are sound: a reference is passed in the same way for every class, a
/// handler is only ever called with its own target, and in the way of its kind. Erasing the target's type saves a
/// metadata look-up for each timer; an enumeration of both kinds would take eight bytes more.
struct Handler: Sendable {
    /// In a struct, because a bare function would be wrapped when its type changes.
    private struct Plain<Target: AnyObject>: Sendable {
        let call: @Sendable (Target, PreciseTimer.Tick) throws -> Void

        // Without this attribute, each new timer calls it.
        @inline(__always) init(call: @escaping @Sendable (Target, PreciseTimer.Tick) throws -> Void) {
            self.call = call
        }
    }

    private struct InTask: Sendable {
        let call: @Sendable (isolated (any Actor)?, AnyObject, PreciseTimer.Tick) async -> HandlerFailure?
    }

    private let function: Plain<AnyObject>

    /// A plain function.
    @inline(__always) init<Target: AnyObject>(_ call: @escaping @Sendable (Target, PreciseTimer.Tick) throws -> Void) {
        function = unsafe unsafeBitCast(Plain(call: call), to: Plain<AnyObject>.self)
    }

    // The caller of the next two is on the function's actor already, and hops nowhere. A function that was converted to
    // a type without isolation would leave the actor, and come back.

    /// A function that is called in a task, on its actor if it has one. Its errors go to `onError`; without it, or if
    /// it throws, they end the timer.
    init<Target: AnyObject & Sendable>(
        inTask call: @escaping @isolated(any) @Sendable (Target, PreciseTimer.Tick) async throws -> Void,
        onError: (@isolated(any) @Sendable (Target, any Error) async throws -> Void)?
    ) {
        let tell = onError.map { tell in { @Sendable (target: Target, error) in try await tell(target, error) } }
        let body = InTask { actor, target, tick in
            let target = unsafe unsafeDowncast(target, to: Target.self)
            do { try await call(target, tick) } catch { return await .of(error, on: actor, target, tell) }
            return nil
        }
        self.init(body)
    }

    /// The same for a function that is isolated to its target.
    init<Target: Actor>(
        onTarget call: @escaping @Sendable (isolated Target, PreciseTimer.Tick) async throws -> Void,
        onError: (@Sendable (isolated Target, any Error) async throws -> Void)?
    ) {
        let tell = onError.map { tell in { @Sendable (target: Target, error) in try await tell(target, error) } }
        let body = InTask { actor, target, tick in
            let target = unsafe unsafeDowncast(target, to: Target.self)
            do { try await call(target, tick) } catch { return await .of(error, on: actor, target, tell) }
            return nil
        }
        self.init(body)
    }

    private init(_ inTask: InTask) { function = unsafe unsafeBitCast(inTask, to: Plain<AnyObject>.self) }

    /// Calls a plain function.
    var call: @Sendable (AnyObject, PreciseTimer.Tick) throws -> Void { function.call }

    /// Calls a function that is called in a task.
    var callInTask: @Sendable (isolated (any Actor)?, AnyObject, PreciseTimer.Tick) async -> HandlerFailure? {
        unsafe unsafeBitCast(function, to: InTask.self).call
    }
}

/// The error of a handler that was called in a task, and what became of it.
enum HandlerFailure {
    /// `onError` took it: the timer goes on.
    case taken(any Error)
    /// `onError` threw another error, which ends the timer.
    case given(up: any Error, with: any Error)
    /// There is no `onError`: it ends the timer.
    case untold(any Error)

    /// What becomes of an error; nil if it only says that the task was cancelled, as it is if the timer ends while its
    /// handler runs. `tell` is `onError`.
    fileprivate static func of<Target: Sendable>(
        _ error: any Error,
        on actor: isolated (any Actor)?,
        _ target: Target,
        _ tell: (@Sendable (Target, any Error) async throws -> Void)?
    ) async -> HandlerFailure? {
        if error is CancellationError, Task.isCancelled { return nil }
        guard let tell else { return .untold(error) }
        do { try await tell(target, error) } catch let last { return .given(up: error, with: last) }
        return .taken(error)
    }

    /// The error of the handler.
    var thrown: any Error {
        switch self {
        case .taken(let error), .given(up: let error, with: _), .untold(let error): error
        }
    }
}

/// The `onError` of a handler that is called in place.
struct ErrorHandler: Sendable {
    /// Whether it is called where the handler ran. Otherwise it is isolated to an actor, and is called there, in a
    /// task that nothing waits for.
    let isInPlace: Bool
    /// Tells it of an error. It reports an error of its own with the function that it gets.
    let tell: @Sendable (AnyObject, any Error, _ giveUp: @escaping @Sendable (any Error) -> Void) -> Void

    init<Target: AnyObject & Sendable>(
        _ onError: @escaping @isolated(any) @Sendable (Target, any Error) throws -> Void
    ) {
        // The target is the timer's own, so the casts are sound.
        if let onError = calledInPlace(onError) {
            isInPlace = true
            tell = { target, error, giveUp in
                do { try onError(unsafe unsafeDowncast(target, to: Target.self), error) } catch { giveUp(error) }
            }
        } else {
            isInPlace = false
            tell = { target, error, giveUp in
                let target = unsafe unsafeDowncast(target, to: Target.self)
                Task.detached { do { try await onError(target, error) } catch { giveUp(error) } }
            }
        }
    }
}

/// An `onEnd`, as it is called where the timer ends. One that is isolated to an actor is called there, in a task that
/// nothing waits for.
func calledAtTheEnd(
    _ onEnd: @escaping @isolated(any) @Sendable (PreciseTimer.EndReason) -> Void
) -> @Sendable (PreciseTimer.EndReason) -> Void {
    calledInPlace(onEnd) ?? { @Sendable reason in _ = Task.detached { await onEnd(reason) } }
}

extension ServiceCore {
    /// A handler that was called on this thread threw an error. It counts as running until this returns.
    @inline(never) func handlerThrew(_ error: any Error, record: Record, _ target: AnyObject) {
        let (onError, counts) = locked(inForkedChild: (nil, nil)) { _ in (record.rare?.onError, record.rare?.counts) }
        if let counts {
            // Describing the error runs the user's code.
            let words = "\(error)"
            locked(inForkedChild: ()) { _ in counts.noteError(words) }
        }
        guard let onError else { return end(record, failed: error, isTold: false) }
        let tell = { onError.tell(target, error) { self.end(record, failed: $0, isTold: true) } }
        if !onError.isInPlace, case .inline = record.user.destination {
            // A new task may start a thread.
            setup.asOrdinaryThread(tell)
        } else {
            tell()
        }
    }
}

// What the patterns use of the engine.

/// A handler that may be isolated to an actor, as one that can be called without a task; nil if it is isolated. The
/// compiler refuses such a conversion of a synchronous function, because it cannot know that. The representation is the
/// same: a function has its isolation among what it has captured.
package func calledInPlace<Value>(
    _ handler: @escaping @isolated(any) @Sendable (Value) -> Void
) -> (@Sendable (Value) -> Void)? {
    handler.isolation == nil ? unsafe unsafeBitCast(handler, to: (@Sendable (Value) -> Void).self) : nil
}

/// The same for a handler of two values.
package func calledInPlace<First, Second>(
    _ handler: @escaping @isolated(any) @Sendable (First, Second) -> Void
) -> (@Sendable (First, Second) -> Void)? {
    handler.isolation == nil ? unsafe unsafeBitCast(handler, to: (@Sendable (First, Second) -> Void).self) : nil
}

/// The same for a handler of three values.
package func calledInPlace<First, Second, Third>(
    _ handler: @escaping @isolated(any) @Sendable (First, Second, Third) -> Void
) -> (@Sendable (First, Second, Third) -> Void)? {
    guard handler.isolation == nil else { return nil }
    return unsafe unsafeBitCast(handler, to: (@Sendable (First, Second, Third) -> Void).self)
}

/// The same for a handler of two values that may throw.
func calledInPlace<First, Second>(
    _ handler: @escaping @isolated(any) @Sendable (First, Second) throws -> Void
) -> (@Sendable (First, Second) throws -> Void)? {
    handler.isolation == nil ? unsafe unsafeBitCast(handler, to: (@Sendable (First, Second) throws -> Void).self) : nil
}

/// The same for a handler of none.
func calledInPlace(_ handler: @escaping @isolated(any) @Sendable () throws -> Void) -> (@Sendable () throws -> Void)? {
    handler.isolation == nil ? unsafe unsafeBitCast(handler, to: (@Sendable () throws -> Void).self) : nil
}
