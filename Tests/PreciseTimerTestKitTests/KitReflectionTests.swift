import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// `dump`, a debugger and a failed expectation read all parts of a value. Each of these tests has a process of its own,
/// which a part that cannot be copied would end.
@Suite(.waits("each test has a process of its own")) struct KitReflectionTests {
    @Test func everyPublicTypeCanBeReflected() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                reflectAll(try specimens() + values)
            }
        )
        #expect(lines(result.standardOutputContent).last == "done")
    }

    @Test func theReflectedTypesAreAllPublicTypes() throws {
        #expect(try Set((specimens() + values).map(typeName)) == publicTypes(of: "PreciseTimerTestKit"))
    }

    @Test func anObjectIsDumpedAsItsDescription() async {
        await #expect(processExitsWith: .success) {
            for object in try specimens() { #expect(reflect(object).hasPrefix("- \(object)")) }
            for object in try specimens() { #expect(reflect(object).split(separator: "\n").count == 1) }
        }
    }

    @Test func anExpectationAboutVirtualTimeMayFail() async {
        await #expect(processExitsWith: .success) {
            let (virtual, other) = (VirtualTime(), VirtualTime())
            let log = TickLog(virtual)
            let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
            await virtual.advance(by: .seconds(3))
            withKnownIssue { #expect(virtual.pendingCount == 3) }
            withKnownIssue { #expect(virtual === other) }
            withKnownIssue { #expect(log.deadlines == []) }
            withKnownIssue { #expect([timer].isEmpty, "\(virtual)") }
        }
    }
}

/// One value of each of the other types.
private let values: [any Sendable] = [AlarmConformance.Clause.stopIsFinal, VirtualTime.Fault.stall(.zero)]

/// One value of each type that holds objects.
private func specimens() throws -> [Any] {
    let virtual = VirtualTime()
    let log = TickLog(virtual)
    try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "clock", target: log) { $0.note($1) }
    virtual.advance(by: .seconds(2))
    return [virtual, log, AlarmConformance(patience: .milliseconds(200)) { throw TimerError(.unavailable, "opening") }]
}
