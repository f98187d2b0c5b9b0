import Glibc
import Synchronization

/// A game that needs exactly one step of its simulation for each sixtieth of a second, and is drawn if there is time.
final class Game: Sendable {
    private struct State {
        var steps: UInt64 = 0
        var frames = 0
    }

    private let state = Mutex(State())

    var steps: UInt64 { state.withLock { $0.steps } }
    var frames: Int { state.withLock { $0.frames } }

    func simulate(steps: UInt64) { state.withLock { $0.steps += steps } }

    func draw() {
        let frame = state.withLock { state in
            state.frames += 1
            return state.frames
        }
        // One frame is far too slow: it loads the next level.
        if frame == 20 { usleep(60_000) }
    }
}
