import PreciseTimer

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
        try PreciseTimer.schedule(.every(.milliseconds(50), count: 6), target: self) { @MainActor message, _ in
            message.isHighlighted.toggle()
            message.blinks += message.isHighlighted ? 1 : 0
        }
        try PreciseTimer.schedule(.every(.milliseconds(100)), target: self) { @MainActor message, tick in
            message.age += 1 + Int(tick.missed)
        }
        .store(in: timers)
        try PreciseTimer.schedule(.once(after: .milliseconds(450)), target: self) { @MainActor message, _ in
            message.hide()
        }
    }

    private func hide() {
        isVisible = false
        timers.cancelAll()
    }
}
