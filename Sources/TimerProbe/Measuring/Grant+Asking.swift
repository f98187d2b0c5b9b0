internal import Dispatch
internal import HostSystem
internal import PreciseTimer
internal import Synchronization
package import TimerResults

extension Grant {
    /// Asks the system once for everything that a plan wishes for, row by row, before anything is measured.
    ///
    /// - Parameter plan: the plan.
    /// - Returns: one grant for each wish; none for a plan without wishes.
    /// - Throws: `Problem` if a wish makes no sense, and `MeasurementError` if a row cannot start.
    package static func asking(for plan: MeasurementPlan) throws -> [Grant] {
        let wishes = plan.wishes
        guard !wishes.texts.isEmpty else { return [] }
        let shared = try attempt("the service that holds them") {
            let companion = try wishes.startCompanion()
            defer { companion?.shutdown() }
            return companion?.grant
        }
        let own = try plan.rows.map { row in try attempt(row.name) { try ownGrant(of: row, plan) } }
        return SystemWishes.Wish.allCases.compactMap { wish in
            wish.text(of: wishes)
                .map { text in
                    Grant(
                        text,
                        zip(plan.rows, own).map { row, own in (row.name, answer(of: row, to: wish, own: own, shared)) }
                    )
                }
        }
    }

    /// What a row's own thread obtains; nil for a row whose threads the library does not start.
    private static func ownGrant(of row: Row, _ plan: MeasurementPlan) throws -> TimerService.ThreadGrant? {
        switch row.mechanism {
        case .backend(let backend):
            let service = try plan.wishes.startService(on: backend, clock: plan.clock)
            defer { service.shutdown() }
            return service.grant
        case .reference:
            let options = plan.wishes.ofThread
            let (result, isReady) = (ThreadResult(), DispatchSemaphore(value: 0))
            try KernelThread.start("floor.asking") {
                result.set(Result { () throws(TimerError) in try options.applyToCallingThread() })
                isReady.signal()
            }
            isReady.wait()
            return try result.get()
        case .peer, .referee: return nil
        }
    }

    private static func answer(
        of row: Row,
        to wish: SystemWishes.Wish,
        own: TimerService.ThreadGrant?,
        _ shared: TimerService.ThreadGrant?
    ) -> Answer {
        let isOwnProgram = row.mechanism == .referee
        let foreign = Answer.refused(
            reason: isOwnProgram
                ? "it is a program of its own" : "the ticking threads are not the library's",
            advice: nil
        )
        return switch wish {
        case .realtime: own.map { Answer($0, .policy) } ?? foreign
        case .affinity: own.map { Answer($0, .affinity) } ?? foreign
        case .timerSlack: own.map { Answer($0, .timerSlack) } ?? foreign
        // The kernel's own slice needs no asking.
        case .slice: own.map { Answer($0, .slice) } ?? foreign
        // Locked memory is the process's, and the idle latency the machine's.
        case .lockMemory: isOwnProgram ? foreign : shared.map { Answer($0, .lockedMemory) } ?? .none
        case .idleLatency: shared.map { Answer($0, .idleLatency) } ?? .none
        case .maximumSpin, .cpuBudget: row.mechanism == .backend(.hybrid) ? .obtained : .none
        }
    }

    /// An option that makes no sense is the user's mistake.
    private static func attempt<Outcome>(_ name: String, _ body: () throws -> Outcome) throws -> Outcome {
        do { return try body() } catch let error as TimerError where error.code == .invalidOption {
            throw Problem(error.attempted)
        } catch {
            throw MeasurementError.failed("\(name): \(error)")
        }
    }
}

extension Grant.Answer {
    /// The answer of a thread to an option.
    fileprivate init(_ grant: TimerService.ThreadGrant, _ option: TimerService.ThreadGrant.Option) {
        guard let item = grant.items.first(where: { $0.option == option }) else {
            self = .none
            return
        }
        guard let refusal = item.refusal else {
            self = .obtained
            return
        }
        let system = refusal.errno.map { "the system refused it (errno \($0): \(refusal.systemMessage ?? "unknown"))" }
        self = .refused(reason: system ?? "the ticking thread is not the service's own", advice: item.advice)
    }
}

/// What a thread obtained, for the thread that waits for it.
private final class ThreadResult: Sendable {
    private let result = Mutex<Result<TimerService.ThreadGrant, TimerError>?>(nil)

    func set(_ new: Result<TimerService.ThreadGrant, TimerError>) { result.withLock { $0 = new } }

    func get() throws(TimerError) -> TimerService.ThreadGrant? { try result.withLock(\.self)?.get() }
}
