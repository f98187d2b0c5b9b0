internal import Foundation
package import Testing

/// Tests that take many seconds. They run by hand, and in the long stages of the checks.
package enum LongTests {
    /// Whether they were asked for.
    package static let areOn = ProcessInfo.processInfo.environment["PRECISE_TIMER_LONG"] == "1"
    package static let areOff: Comment = "takes long: set PRECISE_TIMER_LONG=1"
}
