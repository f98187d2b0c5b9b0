internal import Dispatch
internal import Foundation
package import Testing

/// What a test on the real clock costs the machine, and so how many run beside each other.
///
/// Tests on virtual time need no such trait. So each says what only real time can show; a failure repeats it. A body
/// may block its thread: it runs on one of its own, and not on those of the tasks, of which there are only as many as
/// processors.
package struct Cost: TestTrait, SuiteTrait, TestScoping {
    fileprivate let places: Int
    package let comments: [Comment]

    fileprivate init(_ places: Int, _ reason: Comment) {
        (self.places, comments) = (places, [reason])
    }

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        // Of a suite's cost and that of one of its tests, the higher one counts, once.
        if Self.isInside { return try await function() }
        let places = test.traits.reduce(places) { max($0, ($1 as? Cost)?.places ?? 0) }
        await Turnstile.shared.enter(places)
        defer { Turnstile.shared.leave(places) }
        try await Self.$isInside.withValue(true) {
            try await withTaskExecutorPreference(OwnThreads.shared) { try await repeatedIfStarved(test: function) }
        }
    }

    /// Whether the test has its places.
    @TaskLocal private static var isInside = false
}

extension Trait where Self == Cost {
    /// It mostly waits: for ticks, or for a child process.
    package static func waits(_ reason: Comment) -> Cost { Cost(1, reason) }
    /// It keeps a processor busy, or more than one for moments.
    package static func works(_ reason: Comment) -> Cost { Cost(Turnstile.places / 3, reason) }
    /// It disturbs the whole machine: nothing that waits or works runs beside it. It comes last.
    package static func alone(_ reason: Comment) -> Cost { Cost(Turnstile.places, reason) }
}

/// Lets in as many tests as the machine holds. First come, first served, but those that want all places come last.
private actor Turnstile {
    static let shared = Turnstile()
    static let places = 24

    private typealias Waiting = (places: Int, continuation: CheckedContinuation<Void, Never>)

    private var free = Turnstile.places
    private var waiting: [Waiting] = []
    private var last: [Waiting] = []

    func enter(_ places: Int) async {
        await withCheckedContinuation { continuation in
            if places < Turnstile.places {
                waiting.append((places, continuation))
            } else {
                last.append((places, continuation))
            }
            admit()
        }
    }

    nonisolated func leave(_ places: Int) { Task { await self.give(places) } }

    private func give(_ places: Int) {
        free += places
        admit()
    }

    private func admit() {
        while let next = waiting.first, next.places <= free {
            waiting.removeFirst()
            letIn(next)
        }
        if waiting.isEmpty, free == Turnstile.places, let next = last.first {
            last.removeFirst()
            letIn(next)
        }
    }

    private func letIn(_ next: Waiting) {
        free -= next.places
        next.continuation.resume()
    }
}

/// Runs each piece of a task on a thread that it may block. A serial queue has a thread as soon as it has work.
private final class OwnThreads: TaskExecutor {
    static let shared = OwnThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue(label: "test.own").async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// How much the tests try: enough for `make test`, and much more with `PRECISE_TIMER_THOROUGH=1`.
package enum Effort {
    package static let isThorough = ProcessInfo.processInfo.environment["PRECISE_TIMER_THOROUGH"] == "1"
    /// Why a test that takes many seconds does not run.
    package static let isShort: Comment = "takes long: set PRECISE_TIMER_THOROUGH=1"

    /// A number of rounds, timers or seeds. A debug build checks invariants after each change, so its thorough run may
    /// have its own number.
    package static func of(_ few: Int, thorough many: Int, inDebug some: Int? = nil) -> Int {
        #if DEBUG
        isThorough ? some ?? many : few
        #else
        isThorough ? many : few
        #endif
    }

    /// All of a table's cases in a thorough run, and otherwise every fifth.
    package static func some<Case>(_ cases: [Case]) -> [Case] {
        isThorough ? cases : stride(from: 0, to: cases.count, by: 5).map { cases[$0] }
    }
}

/// Whether the thread sanitizer watches this process. Its own locks make threads sleep, and code takes far longer.
package let isThreadSanitized = unsafe dlsym(nil, "__tsan_init") != nil

/// Whether the address sanitizer watches this process. It keeps memory that was freed.
package let isAddressSanitized = unsafe dlsym(nil, "__asan_init") != nil
