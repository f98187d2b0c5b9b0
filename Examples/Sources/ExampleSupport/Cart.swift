/// A cart on a rail, and a controller that drives it to a position.
public struct Cart: Sendable {
    /// The controller's goal, in metres.
    public static let goal = 1.0

    /// In metres.
    public private(set) var position = 0.0
    /// In milliseconds.
    public private(set) var age = 0
    private var speed = 0.0
    private var force = 0.0

    /// A cart that stands at 0.
    public init() {}

    /// Lets the cart run for some milliseconds with the present force.
    public mutating func run(milliseconds: Int) {
        age += milliseconds
        for _ in 0..<milliseconds {
            speed += force * 0.001
            position += speed * 0.001
        }
    }

    /// Decides the force until the next call: a spring to the goal, and a brake.
    public mutating func control() { force = 40 * (Self.goal - position) - 12 * speed }
}
