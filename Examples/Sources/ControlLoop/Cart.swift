/// A cart on a rail, and a controller that drives it to a position.
struct Cart {
    /// The controller's goal, in metres.
    static let goal = 1.0

    /// In metres.
    private(set) var position = 0.0
    /// In milliseconds.
    private(set) var age: UInt64 = 0
    private var speed = 0.0
    private var force = 0.0

    /// Lets the cart run for some milliseconds with the present force.
    mutating func run(milliseconds: UInt64) {
        age += milliseconds
        for _ in 0..<milliseconds {
            speed += force * 0.001
            position += speed * 0.001
        }
    }

    /// Decides the force until the next call: a spring to the goal, and a brake.
    mutating func control() { force = 40 * (Self.goal - position) - 12 * speed }
}
