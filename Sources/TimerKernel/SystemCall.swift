internal import CTimerKernel

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
