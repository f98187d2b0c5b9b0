internal import Glibc

/// Ends the program with an error if a promise is broken.
///
/// - Parameters:
///   - isKept: whether the promise is kept.
///   - complaint: what went wrong if it is not.
public func check(_ isKept: Bool, _ complaint: @autoclosure () -> String) {
    if !isKept { fail(complaint()) }
}

/// Ends the program with an error.
public func fail(_ complaint: String) -> Never {
    print("failed:", complaint)
    exit(1)
}

/// Waits until a condition holds. The machine may be busy, so only half a minute is an error.
public func wait(
    for event: String,
    isolation: isolated (any Actor)? = #isolation,
    until condition: () -> Bool
) async throws {
    let limit = ContinuousClock.now.advanced(by: .seconds(30))
    while !condition() {
        check(ContinuousClock.now < limit, "waited for \(event) for half a minute")
        try await Task.sleep(for: .milliseconds(1))
    }
}
