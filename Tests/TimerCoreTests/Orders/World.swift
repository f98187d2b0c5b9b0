/// A small program whose threads take their steps in any order. No two steps happen at the same time, so an order of
/// steps is everything that the threads can do to each other.
protocol World: AnyObject {
    associatedtype Step: Sendable

    /// The steps that can be taken next; empty at the end.
    var steps: [Step] { get }
    /// The first promise that was broken.
    var fault: String? { get }
    /// A number for everything that later steps depend on. Worlds with the same number are taken for equal.
    var fingerprint: Int { get }

    /// Takes one of ``steps``.
    func take(_ step: Step)
    /// Checks what must hold after every step. It is called once for each different world.
    func check()
    /// Checks the promises of the end. Called if no step is left.
    func end()
    /// A step in words, before it is taken.
    func text(of step: Step) -> String

    /// A copy; nil if the world cannot be copied.
    func copy() -> Self?
    /// How many worlds a search may keep at a time.
    static var kept: Int { get }
}

extension World {
    func copy() -> Self? { nil }
    static var kept: Int { 2_000 }
}

/// What a search through all orders has found.
struct Exploration {
    /// The number of different orders, from the beginning to an end.
    private(set) var orders: UInt128 = 0
    /// The number of different worlds that these orders lead through.
    private(set) var states = 0
    /// The number of steps that were taken from these worlds.
    private(set) var steps = 0
    /// The number of steps in the longest order.
    private(set) var depth = 0
    /// The first broken promise, after one of the shortest orders that break one.
    private(set) var fault: String?
    /// That order, in words.
    private(set) var trace: [String] = []

    /// Searches breadth first, so a fault is found by a shortest order. Some worlds cannot be copied, because their
    /// scheduler cannot. Each further step from such a world begins anew and takes the steps to that world again.
    /// Orders that have led to equal worlds, after as many steps, go on as one.
    init<W: World>(of begin: () -> W) {
        var nodes = [Node<W.Step>(parent: -1, step: nil)]
        var layer: [Place<W>] = [Place(node: 0, orders: 1, world: begin())]
        while !layer.isEmpty {
            var next: [Place<W>] = []
            var known: [Int: Int] = [:]
            states += layer.count
            for place in layer.indices {
                let (node, count) = (layer[place].node, layer[place].orders)
                let path = Self.path(to: node, nodes)
                func again() -> W {
                    let world = begin()
                    for step in path { world.take(step) }
                    return world
                }
                let present = layer[place].world.take() ?? again()
                let steps = present.steps
                if steps.isEmpty {
                    present.end()
                    if note(present.fault, begin(), path) { return }
                    orders += count
                    depth = path.count
                }
                for (position, step) in steps.enumerated() {
                    let world = position + 1 < steps.count ? present.copy() ?? again() : present
                    world.take(step)
                    self.steps += 1
                    let fingerprint = world.fingerprint
                    if let place = known[fingerprint] {
                        next[place].orders += count
                    } else {
                        world.check()
                        if note(world.fault, begin(), path + [step]) { return }
                        known[fingerprint] = next.count
                        next.append(Place(node: nodes.count, orders: count, world: next.count < W.kept ? world : nil))
                        nodes.append(Node(parent: node, step: step))
                    }
                }
            }
            layer = next
        }
    }

    /// A world of a layer: the orders that lead to it and, as long as the memory suffices, itself.
    private struct Place<W> {
        let node: Int
        var orders: UInt128
        var world: W?
    }

    private struct Node<Step> {
        let parent: Int
        let step: Step?
    }

    private static func path<Step>(to node: Int, _ nodes: [Node<Step>]) -> [Step] {
        var (node, path) = (node, [Step]())
        while let step = nodes[node].step {
            path.append(step)
            node = nodes[node].parent
        }
        return path.reversed()
    }

    /// Notes a fault and its order. Returns false if there is no fault.
    private mutating func note<W: World>(_ fault: String?, _ world: W, _ path: [W.Step]) -> Bool {
        guard let fault else { return false }
        self.fault = fault
        for step in path {
            trace.append(world.text(of: step))
            world.take(step)
        }
        return true
    }
}

extension Exploration: CustomStringConvertible {
    var description: String {
        if let fault {
            return "\(fault), after \(trace.count) steps:\n" + trace.map { "  \($0)" }.joined(separator: "\n")
        }
        return "\(orders) orders of up to \(depth) steps, through \(states) states and \(steps) steps"
    }
}
