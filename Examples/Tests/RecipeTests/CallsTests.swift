import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import Testing

// "An operation that ignores its cancellation", and a debouncer in a property, of the recipes.

struct Busy: Error {}

/// Looks names up with a call that may hang, and that no cancellation ends.
actor Lookups {
    private let service: TimerService
    private let lookUp: @Sendable (String) async throws -> String
    /// The calls that have not returned, those that nobody waits for included.
    private(set) var running = 0

    init(on service: TimerService = .default, lookUp: @escaping @Sendable (String) async throws -> String) {
        (self.service, self.lookUp) = (service, lookUp)
    }

    func address(of name: String) async throws -> String {
        guard running < 8 else { throw Busy() }
        running += 1
        let (answers, answer) = AsyncThrowingStream<String, any Error>.makeStream()
        let call = Task {
            do {
                answer.yield(try await lookUp(name))
                answer.finish()
            } catch {
                answer.finish(throwing: error)
            }
            running -= 1
        }
        defer { call.cancel() }
        return try await withTimeout(.seconds(2), on: service) {
            for try await address in answers { return address }
            throw CancellationError()
        }
    }
}

/// Saves a moment after the last change. The type of a debouncer does not name that of its target.
@MainActor final class Editor {
    private(set) var saves = 0
    private var saving: Debouncer?

    init(on service: TimerService = .default) throws {
        saving = try Debouncer(.milliseconds(300), on: service, deliver: .mainActor, target: self) { $0.saves += 1 }
    }

    func change() { saving?() }
}

struct CallsTests {
    private let virtual = VirtualTime()

    /// A call that returns when the test says so, whatever its task's cancellation says.
    private actor Stubborn {
        private var waiting: [CheckedContinuation<String, Never>] = []

        func answer(_ name: String) async -> String { await withCheckedContinuation { waiting.append($0) } }

        func release(_ text: String) {
            for one in waiting { one.resume(returning: text) }
            waiting = []
        }
    }

    @Test func theCallerGoesOnAtTheDeadlineAndTheCallIsCountedUntilItReturns() async throws {
        let stubborn = Stubborn()
        let lookups = Lookups(on: virtual.service) { await stubborn.answer($0) }
        let asking = Task { try await lookups.address(of: "example.org") }
        await virtual.advance(by: .seconds(2))
        await #expect(throws: TimeoutError.self) { try await asking.value }
        #expect(await lookups.running == 1)
        await stubborn.release("too late")
        await virtual.settle()
        #expect(await lookups.running == 0)
    }

    @Test func theNinthCallIsRefusedWhileEightHang() async throws {
        let stubborn = Stubborn()
        let lookups = Lookups(on: virtual.service) { await stubborn.answer($0) }
        let asking = (0..<8).map { number in Task { try await lookups.address(of: "\(number)") } }
        await virtual.advance(by: .seconds(2))
        for task in asking { await #expect(throws: TimeoutError.self) { try await task.value } }
        await #expect(throws: Busy.self) { try await lookups.address(of: "the ninth") }
        await stubborn.release("at last")
        await virtual.settle()
        #expect(await lookups.running == 0)
    }

    @Test func anAnswerInTimeAndAnErrorComeOutAsThemselves() async throws {
        #expect(try await Lookups(on: virtual.service) { "\($0) is here" }.address(of: "it") == "it is here")
        let failing = Lookups(on: virtual.service) { _ in throw Busy() }
        await #expect(throws: Busy.self) { try await failing.address(of: "it") }
        #expect(virtual.pendingCount == 0)
    }

    @Test @MainActor func anEditorSavesOnceAfterABurstAndIsNotRetained() async throws {
        var editor: Editor? = try Editor(on: virtual.service)
        for _ in 0..<5 {
            editor?.change()
            await virtual.advance(by: .milliseconds(100))
        }
        #expect(editor?.saves == 0)
        await virtual.advance(by: .milliseconds(200))
        #expect(editor?.saves == 1)
        weak let released = editor
        editor = nil
        #expect(released == nil)
    }
}
