import Dispatch
import PreciseTimer

/// A part of a server: the thread that serves its connections, and the service that has their time-outs.
struct Shard: Sendable {
    /// Stands for an event loop.
    let queue: DispatchQueue
    let service: TimerService

    init(_ number: Int) throws(TimerError) {
        queue = DispatchQueue(label: "shard \(number)")
        service = try TimerService(.timerFD)
    }
}

extension [Shard] {
    /// The shard of a connection, which is the same one until the program ends.
    func shard(of id: some Hashable) -> Shard { self[abs(id.hashValue % count)] }
}
