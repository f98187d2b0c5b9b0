#if os(Linux) && !KQUEUE
import TestSupport
import Testing

/// Every order of the single operations of threads that take one lock, with the code of the library on a model of the
/// kernel. Two threads never hold it at once, and no thread waits for ever.
@Suite(.timeLimit(.minutes(60))) struct LockOrderTests {
    private static let isLong = Effort.isThorough

    private static let plans: [LockPlan] = [
        LockPlan(name: "two threads", holds: isLong ? 3 : 2),
        LockPlan(name: "three threads", threads: 3),
        LockPlan(name: "a kernel that refuses now and then", holds: isLong ? 2 : 1, refusals: isLong ? 3 : 2),
        LockPlan(name: "three threads and refusals", threads: isLong ? 3 : 2, refusals: isLong ? 2 : 1),
        LockPlan(name: "a kernel that refuses always", threads: isLong ? 3 : 2, refusesAll: true),
        LockPlan(name: "a thread that ends", threads: 3, refusals: isLong ? 2 : 0, ends: true),
        LockPlan(name: "a lock that is taken twice", threads: isLong ? 3 : 2, takesTwice: true),
        LockPlan(name: "taken twice on a kernel that refuses always", refusesAll: true, takesTwice: true),
    ]

    @Test(.alone("every order of the steps is taken"), arguments: plans)
    func noOrderLetsTwoThreadsInOrLeavesOneWaiting(of plan: LockPlan) async throws {
        let all = try await onOwnThread { Exploration { LockWorld(plan) } }
        #expect(all.fault == nil && all.orders > 10, "\(all)")
        if Self.isLong { print("\(plan.name): \(all)") }
    }

    @Test func aPlantedFaultIsFoundByAShortestOrder() {
        let faults: [(LockPlan, String, Int)] = [
            (LockPlan(name: "", plant: .forgetsThoseWhoWait), "B waits for ever", 8),
            (LockPlan(name: "", refusals: 1, plant: .believesTheKernel), "A and B hold the lock at once", 3),
            (LockPlan(name: "", ends: true, plant: .forgetsTheEnd), "B holds a lock that a thread left taken", 4),
            (LockPlan(name: "", plant: .looksBeforeWriting), "A and B hold the lock at once", 4),
        ]
        for (plan, fault, steps) in faults {
            let found = Exploration { LockWorld(plan) }
            #expect(found.fault == fault && found.trace.count == steps, "\(found)")
        }
    }
}

extension LockPlan: CustomTestStringConvertible {
    var testDescription: String { name }
}
#endif
