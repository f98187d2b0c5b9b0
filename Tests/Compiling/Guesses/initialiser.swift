// swift-format-ignore-file
// A handle in a `let` that the initialiser sets. The compiler wants all properties before `self`, and no message of
// ours can be heard: AsyncHandlers.md says to use a variable, a bag, or no handle.
import PreciseTimer

@MainActor final class ViewModel {
    let timer: PreciseTimer
    var seconds = 0

    init() throws {
        // error: used before being initialized
        timer = try PreciseTimer.schedule(.every(.seconds(1)), target: self) { @MainActor model, _ in
            model.seconds += 1
        }
    }
}
