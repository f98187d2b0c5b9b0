import CEventLoop
import Glibc
import PreciseTimer
import Synchronization

/// A program with its own event base and event. PreciseTimer's timers tick beside them, on the same thread.
@main
enum LibeventLoop {
    static let beats = Atomic(0)
    static let ticks = Atomic(0)
    static let early = Atomic(0)

    static func main() throws {
        guard let base = unsafe event_base_new() else { exit(1) }

        // The program's own event: libevent's timer, every 10 ms.
        let beat = unsafe event_new(base, -1, Int16(EV_PERSIST), { _, _, _ in LibeventLoop.noteBeat() }, nil)
        var period = timeval(tv_sec: 0, tv_usec: 10_000)
        unsafe event_add(beat, &period)

        // A timer of PreciseTimer, every 3 ms.
        let service = try unsafe TimerService(attachedTo: base)
        let program = Program()
        let thread = pthread_self()
        try PreciseTimer.schedule(.every(.milliseconds(3)), on: service, target: program) { _, tick in
            ticks.add(1, ordering: .relaxed)
            if tick.lateness < .zero || pthread_self() != thread { early.add(1, ordering: .relaxed) }
            guard tick.index >= 30 else { return }
            // The loop returns when nothing is left to wait for.
            service.shutdown()
            program.isDone.store(true, ordering: .relaxed)
        }
        while !program.isDone.load(ordering: .relaxed) { _ = unsafe event_base_loop(base, EVLOOP_ONCE) }
        unsafe event_free(beat)
        _ = unsafe event_base_dispatch(base)
        unsafe event_base_free(base)

        let counts = (ticks.load(ordering: .relaxed), beats.load(ordering: .relaxed), early.load(ordering: .relaxed))
        print("libevent: \(counts.0) ticks, \(counts.1) events of the program's own, \(counts.2) early or elsewhere")
        if counts.0 == 0 || counts.1 == 0 || counts.2 > 0 { exit(1) }
    }

    static func noteBeat() { beats.add(1, ordering: .relaxed) }
}

/// The target of the ticks.
final class Program: Sendable {
    let isDone = Atomic(false)
}
