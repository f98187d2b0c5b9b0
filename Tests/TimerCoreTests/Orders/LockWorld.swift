import Glibc
import TimerKernel

/// What may happen to a lock.
struct LockPlan: Sendable {
    var name: String
    var threads = 2
    /// How many times each thread takes the lock.
    var holds = 1
    /// How many times the kernel refuses a call.
    var refusals = 0
    /// Whether it refuses each wait.
    var refusesAll = false
    /// Whether the first thread may end while it holds the lock.
    var ends = false
    /// Whether the first thread takes the lock again while it holds it.
    var takesTwice = false
}

/// The next step of a thread: one operation on the word, or one system call.
enum LockMove: Error, Hashable {
    case read, claim, publish, observe, lockInKernel, unlockInKernel, sleep
    case free(UInt32)
    case stop(LockAnswer)
}

/// The steps of a thread's call so far, with their answers. The lock's own code runs from the beginning of the call,
/// and is stopped before its next step.
final class LockReplay: LockSteps {
    let thread: UInt32
    private var answers: ArraySlice<UInt32>

    init(_ thread: UInt32, _ answers: [UInt32]) {
        self.thread = thread
        self.answers = answers[...]
    }

    @discardableResult func answer(to move: LockMove) throws(LockMove) -> UInt32 {
        guard let answer = answers.popFirst() else { throw move }
        return answer
    }

    func read() throws(LockMove) -> UInt32 { try answer(to: .read) }
    func claim() throws(LockMove) -> Bool { try answer(to: .claim) == 1 }
    func free(_ holder: UInt32) throws(LockMove) -> Bool { try answer(to: .free(holder)) == 1 }
    func publish() throws(LockMove) { try answer(to: .publish) }
    func observe() throws(LockMove) -> UInt32 { try answer(to: .observe) }
    func lockInKernel() throws(LockMove) -> CInt { CInt(try answer(to: .lockInKernel)) }
    func unlockInKernel() throws(LockMove) -> CInt { CInt(try answer(to: .unlockInKernel)) }
    func sleep() throws(LockMove) { try answer(to: .sleep) }
    func stop(_ reason: LockAnswer) throws(LockMove) -> Never { throw .stop(reason) }
}

/// What a thread does.
struct LockThread: Hashable {
    enum Call: Hashable {
        case take, release
    }

    /// The call that it is in; nil if it holds the lock and works.
    var call: Call? = .take
    var answers: [UInt32] = []
    /// How many more times it takes the lock, with the present one.
    var holds: Int
    var hasEnded = false

    var isOver: Bool { hasEnded || holds == 0 }
    var isInside: Bool { call == nil && !isOver }
}

/// A step of a thread, by its number.
enum LockStep: Hashable, Sendable {
    case goesOn(Int)
    /// Hands the lock to another thread that waits in the kernel.
    case handsOver(Int, to: Int)
    /// The kernel refuses, before or after it has noted in the word that the thread waits.
    case isRefused(Int, isNoted: Bool)
    case ends(Int)
}

/// A lock, threads that take it, and the kernel. The threads' code is the library's own (``LockSteps``). The kernel is
/// a model of futex(2), each of whose calls is one step. Steps come in a sequentially consistent order.
final class LockWorld: World {
    static let waiters: UInt32 = 0x8000_0000
    static let ownerDied: UInt32 = 0x4000_0000
    static let numbers: UInt32 = 0x3fff_ffff

    let plan: LockPlan
    private var word: UInt32 = 0
    private var threads: [LockThread]
    /// The threads that wait in the kernel.
    private var queue: [Int] = []
    private var refusals: Int
    /// Why the process has ended.
    private var reason: LockAnswer?
    private(set) var fault: String?

    init(_ plan: LockPlan) {
        self.plan = plan
        threads = Array(repeating: LockThread(holds: plan.holds), count: plan.threads)
        refusals = plan.refusals
    }

    private func number(_ thread: Int) -> UInt32 { UInt32(thread + 1) }
    private func name(_ thread: Int) -> String { ["A", "B", "C"][thread] }

    // MARK: The threads' code

    /// The next step of a thread's call; nil if the call returns.
    private func next(_ thread: Int) -> LockMove? {
        let replay = LockReplay(number(thread), threads[thread].answers)
        do throws(LockMove) {
            switch threads[thread].call {
            // As in `Mutex.acquire`. That may try to claim the lock more times, at any moment.
            case .take: if try !replay.claim(), try !replay.claim() { try replay.wait() }
            case .release: try replay.release()
            case nil: break
            }
            return nil
        } catch { return error }
    }

    // MARK: The next steps

    var steps: [LockStep] {
        if reason != nil { return [] }
        return threads.indices.flatMap { thread -> [LockStep] in
            if threads[thread].isOver || queue.contains(thread) { return [] }
            if threads[thread].isInside { return [.goesOn(thread)] + (plan.ends && thread == 0 ? [.ends(0)] : []) }
            let move = next(thread)
            let refused = refusals == 0 ? [] : [false, true].map { LockStep.isRefused(thread, isNoted: $0) }
            switch move {
            // While another thread holds the lock, a try after the sleep would change nothing.
            case .sleep: return holder.map { $0 == thread || threads[$0].hasEnded } ?? true ? [.goesOn(thread)] : []
            case .lockInKernel: return (plan.refusesAll ? [] : [.goesOn(thread)]) + refused + always(thread)
            case .unlockInKernel where !queue.isEmpty && holder == thread:
                return queue.map { .handsOver(thread, to: $0) } + refused.prefix(1)
            case .unlockInKernel: return [.goesOn(thread)] + refused.prefix(1)
            default: return [.goesOn(thread)]
            }
        }
    }

    private func always(_ thread: Int) -> [LockStep] { plan.refusesAll ? [.isRefused(thread, isNoted: false)] : [] }

    /// The thread whose number is in the word.
    private var holder: Int? { word & Self.numbers == 0 ? nil : Int(word & Self.numbers) - 1 }

    func take(_ step: LockStep) {
        switch step {
        case .goesOn(let thread) where threads[thread].isInside:
            threads[thread].call = plan.takesTwice && thread == 0 ? .take : .release
        case .goesOn(let thread): if let move = next(thread) { take(move, thread) }
        case .handsOver(let thread, let other):
            give(to: other)
            answer(thread, 0)
        case .isRefused(let thread, let isNoted):
            if refusals > 0 { refusals -= 1 }
            if isNoted, word != 0 { word |= Self.waiters }
            answer(thread, error: plan.refusesAll ? ENOSYS : EPERM)
        case .ends(let thread):
            threads[thread].hasEnded = true
            if let other = queue.first, holder == thread { give(to: other, Self.ownerDied) }
        }
    }

    private func take(_ move: LockMove, _ thread: Int) {
        switch move {
        case .read, .observe: answer(thread, word)
        case .claim: exchange(thread, 0, number(thread))
        case .free(let holder): exchange(thread, holder, 0)
        case .publish:
            word |= Self.waiters
            answer(thread, 0)
        case .lockInKernel: lockInKernel(thread)
        case .unlockInKernel:
            let wasHeld = holder == thread
            if wasHeld { word = 0 }
            answer(thread, error: wasHeld ? 0 : EPERM)
        case .sleep: answer(thread, 0)
        case .stop(let reason): self.reason = reason
        }
    }

    private func exchange(_ thread: Int, _ former: UInt32, _ new: UInt32) {
        let isEqual = word == former
        if isEqual { word = new }
        answer(thread, isEqual ? 1 : 0)
    }

    private func lockInKernel(_ thread: Int) {
        guard let holder else {
            if !queue.isEmpty { return answer(thread, error: EINVAL) }
            word = word & Self.ownerDied | number(thread)
            return answer(thread, 0)
        }
        if holder == thread { return answer(thread, error: EDEADLK) }
        // The kernel has a list of threads that wait, and the word does not say so.
        if !queue.isEmpty, word & Self.waiters == 0 { return answer(thread, error: EINVAL) }
        word |= Self.waiters
        if threads[holder].hasEnded { return answer(thread, error: ESRCH) }
        queue.append(thread)
    }

    private func give(to thread: Int, _ bits: UInt32 = 0) {
        queue.removeAll { $0 == thread }
        word = number(thread) | Self.waiters | bits
        answer(thread, 0)
    }

    private func answer(_ thread: Int, error: CInt) { answer(thread, UInt32(error)) }

    private func answer(_ thread: Int, _ answer: UInt32) {
        threads[thread].answers.append(answer)
        if next(thread) != nil { return }
        if threads[thread].call == .release { threads[thread].holds -= 1 }
        threads[thread].call = threads[thread].call == .release ? .take : nil
        threads[thread].answers = []
    }

    // MARK: What must hold

    func check() {
        let inside = threads.indices.filter { threads[$0].isInside }
        if inside.count > 1 { fault = inside.map(name).joined(separator: " and ") + " hold the lock at once" }
        if !inside.isEmpty, threads.contains(where: \.hasEnded) {
            fault = "\(name(inside[0])) holds a lock that a thread left taken"
        }
    }

    func end() {
        let waiting = threads.indices.filter { !threads[$0].isOver }
        switch reason {
        case nil:
            if let first = waiting.first { fault = "\(name(first)) waits for ever" }
            if plan.takesTwice { fault = "the lock is taken twice" }
            if !plan.ends, word != 0 { fault = "the lock is left taken" }
        case .ownerEnded where threads.contains(where: \.hasEnded), .takenTwice where plan.takesTwice: break
        case let reason?: fault = reason.rawValue
        }
    }

    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine([word, UInt32(refusals)])
        hasher.combine(threads)
        hasher.combine(queue)
        hasher.combine(reason)
        return hasher.finalize()
    }

    func text(of step: LockStep) -> String {
        guard case .goesOn(let thread) = step else { return "\(step)" }
        return "\(name(thread)): " + (threads[thread].isInside ? "leaves" : next(thread).map { "\($0)" } ?? "")
    }
}
