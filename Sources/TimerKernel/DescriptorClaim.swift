internal import CTimerKernel
internal import Synchronization

/// Our claim to a descriptor's number.
///
/// If the system gives the number to another descriptor of ours, the process has closed the first one from outside. The
/// first claim is then lost, so that two owners never use one descriptor.
final class DescriptorClaim: Sendable {
    /// The claims of this process. A forked child has no access to them: it does not notice such a mistake of its own.
    private static let claims = Lock<[CInt: DescriptorClaim]>([:])

    private let number: CInt
    /// Set once. Releasing and acquiring: a thread that sees it also sees what the new owner has done.
    private let lost = Atomic(false)

    /// Claims a number that the system has just given.
    init(_ number: CInt) {
        self.number = number
        let former = Self.claims.withLock(inForkedChild: nil) { $0.updateValue(self, forKey: number) }
        former?.lose()
    }

    /// Whether the number is known to belong to another file, or to no file.
    var isLost: Bool { lost.load(ordering: .acquiring) }

    /// Gives the claim up, because an error has shown that the number belongs to another file.
    func lose() { lost.store(true, ordering: .releasing) }

    /// Ends the claim, and closes the descriptor if the claim was not lost.
    func close() {
        // Inside the lock: a number that is given to another descriptor of ours is claimed after this.
        Self.claims.withLock(inForkedChild: closeUnlessLost()) { claims in
            if claims[number] === self { claims[number] = nil }
            closeUnlessLost()
        }
    }

    private func closeUnlessLost() {
        if !isLost { timer_close(number) }
    }
}
