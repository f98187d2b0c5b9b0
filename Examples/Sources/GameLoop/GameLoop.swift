import ExampleSupport
import Glibc
import PreciseTimer
import Synchronization

/// A game loop: 60 frames per second, and a simulation that keeps up even if a slow frame misses some deadlines.
@main
enum GameLoop {
    static func main() async throws {
        let service = try TimerService(.hybrid)
        service.collectsStatistics = true
        let (game, ledger) = (Game(), Ledger())
        let loop = try PreciseTimer.schedule(
            .rate(60, per: .seconds(1), count: 60),
            on: service,
            label: "game",
            target: game
        ) { game, tick in
            game.simulate(steps: 1 + tick.missed)
            game.draw()
            ledger.note(tick)
        }
        try await wait(for: "the last frame") { loop.state == .ended(.completed) }
        await service.shutdownAndWait()

        let statistics = service.statistics
        print("game: \(game.frames) frames, \(game.steps) steps; \(statistics?.description ?? "")")
        for handler in service.slowHandlers { print("slow:", handler) }
        check(game.frames == 60, "there were \(game.frames) frames instead of 60")
        check(game.steps == ledger.deadlines, "the simulation did not keep up")
        check(ledger.missed >= 2, "a frame of 60 ms missed fewer than two deadlines")
        check(statistics?.ticks == 60 && statistics?.missed == ledger.missed, "the statistics are wrong")
        check(service.slowHandlers.first?.label == "game", "the slow frame was not found")
    }
}

/// A game that needs exactly one step of its simulation for each sixtieth of a second, and is drawn if there is time.
final class Game: Sendable {
    private struct State {
        var steps: Int = 0
        var frames = 0
    }

    private let state = Mutex(State())

    var steps: Int { state.withLock { $0.steps } }
    var frames: Int { state.withLock { $0.frames } }

    func simulate(steps: Int) { state.withLock { $0.steps += steps } }

    func draw() {
        let frame = state.withLock { state in
            state.frames += 1
            return state.frames
        }
        // One frame is far too slow: it loads the next level.
        if frame == 20 { usleep(60_000) }
    }
}
