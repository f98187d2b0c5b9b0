internal import Foundation
internal import Testing
internal import TimerKernel

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
