import ExampleSupport
import PreciseTimer

/// A view model on the main actor, with timers that end by themselves: after a count, with a bag, or with the model.
@main
@MainActor
enum ViewModel {
    static func main() async throws {
        let message = Message()
        try message.appear()
        message.pointer(isOn: true)
        let timeLeft = message.timeLeft
        try await Task.sleep(for: .milliseconds(500))
        check(message.isVisible && message.timeLeft == timeLeft, "it hid under the pointer, or its time went on")
        message.pointer(isOn: false)
        try await wait(for: "the message to hide") { !message.isVisible && TimerService.default.activeTimers.isEmpty }
        print("message: blinked \(message.blinks) times, hidden at the age of \(message.age) tenths of a second")
        check(message.blinks == 3 && !message.isHighlighted, "it did not blink three times, on and off")

        // The timers of a model that is released end with it. Nothing retains the model, and nothing needs a deinit.
        weak var closed: Message?
        do {
            let second = Message()
            try second.appear()
            try await wait(for: "a tick of the second message") { second.age > 0 }
            closed = second
        }
        try await wait(for: "the model and its timers to end") {
            closed == nil && TimerService.default.activeTimers.isEmpty
        }
    }
}

/// The view model of a message: it blinks when it arrives, shows how old it is, and hides after a while.
@MainActor
final class Message {
    private(set) var isHighlighted = false
    private(set) var blinks = 0
    private(set) var age = 0
    private(set) var isVisible = true
    private let timers = TimerBag()

    func appear() throws {
        // Three times on and off. Ticks are counted, not deadlines, so a busy main actor does not change the end.
        let blinks = PreciseTimer.Schedule.every(.milliseconds(50), count: 6)
        try PreciseTimer.schedule(blinks, target: self) { @MainActor message, _ in
            message.isHighlighted.toggle()
            message.blinks += message.isHighlighted ? 1 : 0
        }
        try PreciseTimer.schedule(.every(.milliseconds(100)), target: self) { @MainActor message, tick in
            message.age += 1 + tick.missed
        }
        .store(in: timers)
        try PreciseTimer.schedule(.once(after: .milliseconds(450)), target: self) { @MainActor message, _ in
            message.hide()
        }
        .store(in: timers, named: "hiding")
    }

    /// The message stays while the pointer is on it, and then for as long as remained.
    func pointer(isOn: Bool) {
        if isOn { timers["hiding"]?.pause() } else { timers["hiding"]?.resume() }
    }

    /// The time until it hides.
    var timeLeft: Duration? { timers["hiding"]?.remaining }

    private func hide() {
        isVisible = false
        timers.cancelAll()
    }
}
