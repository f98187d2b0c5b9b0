/// A mailbox between the threads that put hops into it and the task that takes them. It mirrors `TickMailbox`: each
/// move is one hold of the mailbox's own lock, or one step without it.
struct SmallMailbox: Hashable {
    var hop: Int?
    var hasEnded = false
    /// Whether the task waits to be resumed.
    var isAwaited = false

    /// Takes the task that must be resumed.
    mutating func takeWaiting() -> Bool {
        defer { isAwaited = false }
        return isAwaited
    }
}

extension SmallWorld {
    func useMailbox(_ move: Move, by thread: Int) {
        switch move {
        // `receive(_:)`
        case .put(let number):
            mailbox.hop = number
            if plan.plant != .keepsAHopAfterTheEnd { threads[thread].append(.lookForEnd(number)) }
            if mailbox.takeWaiting() { threads[thread].append(.resume) }
        case .lookForEnd(let number): if mailbox.hasEnded { threads[thread].append(.letGo(number)) }
        // `end(_:)`
        case .endMailbox(let number):
            mailbox.hasEnded = true
            threads[thread].append(.letGo(number))
            if mailbox.takeWaiting() { threads[thread].append(.resume) }
        case .letGo: if let number = mailbox.hop.take() { threads[thread].append(.arrive(number)) }
        case .resume: if case .waitForNews(let number) = threads[1].popLast() { threads[1].append(.next(number)) }
        // `next()`
        case .next(let number):
            if let hop = mailbox.hop.take() {
                threads[thread] += [.next(number), .arrive(hop)]
            } else if !mailbox.hasEnded {
                threads[thread].append(.news(number))
            }
        // `news()`
        case .news(let number):
            if mailbox.hop != nil || mailbox.hasEnded, plan.plant != .waitsWithoutALook {
                threads[thread].append(.next(number))
            } else {
                mailbox.isAwaited = true
                threads[thread].append(.waitForNews(number))
            }
        default: break
        }
    }
}
