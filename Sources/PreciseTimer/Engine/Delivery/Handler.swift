/// What is called for a tick. The destination of the tick tells which of two kinds it is: a plain function, which is
/// called on the thread where the tick arrives and may throw, or one that is called in a task.
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
