// What the patterns use of the engine, besides ``PreciseTimer/setUnlessFinishing(to:)``.

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

/// The target of a timer of the library's own, such as a sleep or a time-out, which has no last tick. For the patterns,
/// too.
package protocol WithoutLastTick: AnyObject {}
