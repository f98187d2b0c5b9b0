internal import CTimerKernel
internal import Synchronization

/// Turns every result of the kernel into a value or a typed error.
package enum SystemCall {
    /// Repeats a call until no signal interrupts it. Reads the errno of a failure at once.
    package static func retrying<Number: SignedInteger>(_ call: () -> Number) -> Result<Number, Errno> {
        while true {
            let result = call()
            if result != -1 { return .success(result) }
            let number = last_error()
            if number != EINTR { return .failure(Errno(number)) }
        }
    }
}

/// An error number of the system.
package struct Errno: Error, Hashable {
    /// The number itself.
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    /// The error for the caller.
    package func error(_ code: TimerError.Code = .systemRefused, attempting attempted: String) -> TimerError {
        TimerError(code, attempted, errno: number, systemMessage: unsafe String(cString: strerror(number)))
    }
}

/// The descriptor for messages.
package enum StandardError {
    /// Writes a line, whatever its text contains. A failure is ignored, because there is no other place to report it.
    package static func writeLine(_ line: String) {
        var remaining = (line.onOneLine + "\n")[...]
        remaining.withUTF8 { bytes in _ = unsafe CTimerKernel.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}

extension String {
    /// The text on one line, for lists and messages: control characters and separators of lines are written as in a
    /// literal. Names and errors are the user's, and may have any.
    package var onOneLine: String {
        unicodeScalars.contains(where: \.isControl)
            ? unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined() : self
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

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
        let previous = Self.claims.withLock(inForkedChild: nil) { $0.updateValue(self, forKey: number) }
        previous?.lose()
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
        if !isLost { CTimerKernel.close(number) }
    }
}
