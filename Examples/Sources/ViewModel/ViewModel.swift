import ExampleSupport
import PreciseTimer

/// A view model on the main actor, with timers that end by themselves: after a count, with a bag, or with the model.
@main
@MainActor
enum ViewModel {
    static func main() async throws {
        let message = Message()
        try message.appear()
        try await wait(for: "the message to hide") { !message.isVisible && TimerService.default.activeTimers.isEmpty }
        print("message: blinked \(message.blinks) times, hidden at the age of \(message.age) tenths of a second")
        check(message.blinks == 3 && !message.isHighlighted, "it did not blink three times, on and off")

        // The timers of a model that is released end with it. Nothing retains the model, and nothing needs a deinit.
        weak var closed: Message?
        do {
            let second = Message()
            try second.appear()
            closed = second
        }
        try await wait(for: "the model and its timers to end") {
            closed == nil && TimerService.default.activeTimers.isEmpty
        }
    }
}
