import Dispatch
import Foundation
import Synchronization
import Testing

/// What other timers on Linux do, each as a fact that `Documentation/alternatives.md` names.
///
/// The suites run one after the other, since some count the threads and descriptors of the process.
@Suite(.serialized, .timeLimit(.minutes(1))) enum Alternatives {}

/// A value that handlers and a test share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    var now: Value { value.withLock { $0 } }

    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

/// An object with a timer whose handler uses the object: a view model, a connection.
///
/// `timer` is set before the timer can fire, and not used after that.
final class Owner: @unchecked Sendable {
    let calls = Shared(0)
    /// The timer, as an owner usually has it in a property.
    var timer: Any?

    func tick() { calls.change { $0 += 1 } }
}

/// A weak reference, to see whether its object is alive.
struct Weak: Sendable {
    weak let owner: Owner?
}

/// Nanoseconds of the clock that Dispatch, NIO and Swift's `SuspendingClock` use on Linux.
func uptime() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

/// The numbers of deadlines from `first` in steps of `period` that have passed at an instant.
func deadlinesPassed(at instant: UInt64, from first: UInt64, period: UInt64) -> UInt64 {
    instant < first ? 0 : (instant - first) / period + 1
}

/// Waits for a condition without an upper bound: the suite has one.
func wait(until condition: () -> Bool) {
    while !condition() { usleep(500) }
}

/// Runs the run loop of this thread until a condition holds.
func runLoop(until condition: () -> Bool) {
    while !condition() { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
}

/// The entries of a folder of /proc/self, such as its threads.
func count(of folder: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count
}
