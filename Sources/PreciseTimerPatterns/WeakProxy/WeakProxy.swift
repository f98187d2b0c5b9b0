/// Stands in for an object without keeping it alive, if some *other* API would retain the object.
///
/// Forwards reads, writes and calls. Once the target has been released, they do nothing and yield nil.
///
/// ```swift
/// let proxy = WeakProxy(model)
/// legacy.callback = { proxy { $0.refresh() } }        // does not keep model alive
/// let title = proxy.title                             // String?
/// ```
///
/// A `PreciseTimer` needs no proxy: it never retains its target.
@dynamicMemberLookup public final class WeakProxy<Target: AnyObject> {
    /// The object; nil once it has been released.
    public weak let target: Target?

    /// A proxy for an object.
    public init(_ target: Target) { self.target = target }

    /// Calls the body with the target. Returns nil without a call if the target was released.
    @discardableResult public func callAsFunction<Result, Failure: Error>(
        _ body: (Target) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let target else { return nil }
        return try body(target)
    }

    /// A property of the target; nil if the target was released.
    public subscript<Value>(dynamicMember keyPath: KeyPath<Target, Value>) -> Value? { target?[keyPath: keyPath] }

    /// An optional property of the target; nil, too, if the target was released. Setting it then has no effect.
    public subscript<Value>(dynamicMember keyPath: ReferenceWritableKeyPath<Target, Value?>) -> Value? {
        get { target?[keyPath: keyPath] }
        set { target?[keyPath: keyPath] = newValue }
    }

    /// A property of the target; nil if the target was released. Setting it then, or setting nil, has no effect.
    public subscript<Value>(dynamicMember keyPath: ReferenceWritableKeyPath<Target, Value>) -> Value? {
        get { target?[keyPath: keyPath] }
        set { if let newValue { target?[keyPath: keyPath] = newValue } }
    }
}

extension WeakProxy: Sendable where Target: Sendable {}

extension WeakProxy: CustomStringConvertible, CustomReflectable {
    /// The type of the target, and whether it was released.
    public var description: String { "proxy of \(target == nil ? "a released " : "")\(Target.self)" }

    /// Shows the description alone: the target is not reflected.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
