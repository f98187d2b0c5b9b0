internal import TimerKernel

/// The `onError` of a handler that is called in place.
struct ErrorHandler: Sendable {
    /// Whether it is called where the handler ran. Otherwise it is isolated to an actor, and is called there, in a
    /// task that nobody waits for.
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

extension ServiceCore {
    /// A handler that was called on this thread threw an error. It counts as running until this returns.
    @inline(never) func handlerThrew(_ error: any Error, record: Record, _ target: AnyObject) {
        let (onError, counts) = locked(inForkedChild: (nil, nil)) { _ in (record.cold?.onError, record.cold?.counts) }
        if let counts {
            // The words are the user's code.
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
