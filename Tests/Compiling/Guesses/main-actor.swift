// swift-format-ignore-file
// The same in a module whose default isolation is the main actor.
import PreciseTimer

final class ViewModel {
    var seconds = 0
    var isOver = false
    private var clock: PreciseTimer?

    init() throws {
        clock = try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor model, tick in
            model.seconds += 1
        }
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            target: self,
            onEnd: { @MainActor [weak self] reason in self?.isOver = true },
            onError: { @MainActor model, error in model.isOver = true }
        ) { @MainActor model, tick in try await model.load() }
        try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor m, _ in m.refresh() }
        clock = try PreciseTimer.schedule(.every(.seconds(1))) { print("tick") }
    }

    func refresh() {}
    func load() async throws {}
}
