import Synchronization

/// A document that should be saved after changes, but not after each change.
final class Document: Sendable {
    private struct State {
        var changes = 0
        var saved = 0
        var saves = 0
    }

    private let state = Mutex(State())

    var changes: Int { state.withLock { $0.changes } }
    /// How many times it was saved.
    var saves: Int { state.withLock { $0.saves } }
    /// Whether the last change is saved.
    var isSaved: Bool { state.withLock { $0.saved == $0.changes } }

    func change() { state.withLock { $0.changes += 1 } }

    func save() {
        state.withLock { state in
            state.saved = state.changes
            state.saves += 1
        }
    }
}
