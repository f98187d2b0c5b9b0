internal import Dispatch
internal import Foundation
package import Testing
internal import TimerKernel

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

    private var free = Turnstile.places
    private var waiting: [(places: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func enter(_ places: Int) async {
        await withCheckedContinuation { continuation in
            waiting.append((places, continuation))
            admit()
        }
    }

    nonisolated func leave(_ places: Int) { Task { await self.give(places) } }

    private func give(_ places: Int) {
        free += places
        admit()
    }

    private func admit() {
        while !waiting.isEmpty {
            let next = waiting.firstIndex { $0.places < Turnstile.places } ?? 0
            if waiting[next].places > free { return }
            free -= waiting[next].places
            waiting.remove(at: next).continuation.resume()
        }
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

/// Repeats a test once if it failed while other programs held the processors. What failed is reported as a known issue;
/// what fails then is a failure.
package func repeatedIfStarved(
    _ isStarved: @escaping @Sendable () -> Bool = { ProcessorUse.shareOfOthers > 0.25 },
    test: @Sendable () async throws -> Void
) async throws {
    ProcessorUse.note()
    let wasStarved = Lock(false)
    let said: Comment = "\(Test.current?.name ?? "a test") is repeated, because this process was starved"
    try await withKnownIssue(said, isIntermittent: true) {
        try await test()
    } matching: { _ in
        let isStarved = isStarved()
        if isStarved { wasStarved.withLock { $0 = true } }
        return isStarved
    }
    if wasStarved.withLock({ $0 }) { try await test() }
}

/// What the processors did since the machine started, in seconds, and what of it this process and its ended children
/// did. Children that run count as others.
package struct ProcessorUse {
    private let all, idle, own: Double

    /// The share of all processors that other programs and other guests of the host had in the last seconds.
    package static var shareOfOthers: Double {
        guard let now = ProcessorUse(), let before = noted.withLock({ $0.first }) else { return 0 }
        let all = now.all - before.all
        return all > 0 ? 1 - (now.idle - before.idle + now.own - before.own) / all : 0
    }

    /// Takes a reading, unless there is one of the last second.
    static func note() {
        guard let now = ProcessorUse() else { return }
        noted.withLock { noted in
            // A second of all processors is 100 steps of the kernel's account for each.
            if let last = noted.last, now.all - last.all < Double(processors) { return }
            noted.append(now)
            if noted.count > 4 { noted.removeFirst() }
        }
    }

    private static let noted = Lock<[ProcessorUse]>([])
    private static let processors = ProcessInfo.processInfo.processorCount

    /// Nil if the system has no /proc.
    private init?() {
        // user nice system idle iowait irq softirq steal; see proc_stat(5). Guests' time is part of user's.
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        let ticks = text.prefix { $0 != "\n" }.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        guard ticks.count == 8 else { return nil }
        let second = Double(sysconf(Int32(_SC_CLK_TCK)))
        all = ticks.reduce(0, +) / second
        idle = (ticks[3] + ticks[4]) / second
        var spent = tms()
        unsafe times(&spent)
        own = Double(spent.tms_utime + spent.tms_stime + spent.tms_cutime + spent.tms_cstime) / second
    }
}
