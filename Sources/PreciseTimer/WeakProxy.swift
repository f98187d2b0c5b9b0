/// Stands in for an object, without keeping it alive, where some *other* API would retain what it is given.
///
/// Reads and calls are forwarded; once the target is gone, they do nothing and yield nil.
///
/// ```swift
/// let proxy = WeakProxy(model)
/// legacy.callback = { proxy { $0.refresh() } }        // does not keep model alive
/// let title = proxy.title                             // String?
/// ```
///
/// A ``PreciseTimer`` needs no proxy: it never retains its target.
@dynamicMemberLookup
public final class WeakProxy<Target: AnyObject> {
    /// The object, while it exists.
    public weak let target: Target?

    /// A proxy for an object.
    public init(_ target: Target) { self.target = target }

    /// Calls the body with the target; nil, without a call, where the target is gone.
    @discardableResult
    public func callAsFunction<Result, Failure: Error>(
        _ body: (Target) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let target else { return nil }
        return try body(target)
    }

    /// A property of the target; nil where the target is gone.
    public subscript<Value>(dynamicMember keyPath: KeyPath<Target, Value>) -> Value? { target?[keyPath: keyPath] }

    /// A property of the target that may be nil; nil where the target is gone, too. To set it then does nothing.
    public subscript<Value>(dynamicMember keyPath: ReferenceWritableKeyPath<Target, Value?>) -> Value? {
        get { target?[keyPath: keyPath] }
        set { target?[keyPath: keyPath] = newValue }
    }

    /// A property of the target; nil where the target is gone. To set it then does nothing, as to set it to nil does.
    public subscript<Value>(dynamicMember keyPath: ReferenceWritableKeyPath<Target, Value>) -> Value? {
        get { target?[keyPath: keyPath] }
        set { if let newValue { target?[keyPath: keyPath] = newValue } }
    }
}

extension WeakProxy: Sendable where Target: Sendable {}
