import CLibevent
import ExampleSupport
import Glibc
import PreciseTimer
import Synchronization

/// A program with its own event base and event. PreciseTimer's timers tick beside them, on the same thread.
@main
enum LibeventLoop {
    private static let beats = Atomic(0)

    static func main() throws {
        guard let base = unsafe event_base_new() else { fail("libevent refuses an event base") }

        // The program's own event: libevent's timer, every 10 ms.
        let beat = unsafe event_new(base, -1, Int16(EV_PERSIST), { _, _, _ in LibeventLoop.noteBeat() }, nil)
        var period = timeval(tv_sec: 0, tv_usec: 10_000)
        unsafe event_add(beat, &period)

        // A timer of PreciseTimer, every 3 ms.
        let service = try unsafe TimerService(attachedTo: base)
        let (ledger, thread) = (Ledger(), pthread_self())
        let schedule = PreciseTimer.Schedule.every(.milliseconds(3), count: 30)
        let timer = try PreciseTimer.schedule(schedule, on: service, target: ledger) { ledger, tick in
            ledger.note(tick)
            check(pthread_self() == thread, "a tick came on another thread")
        }
        while timer.state == .scheduled { _ = unsafe event_base_loop(base, EVLOOP_ONCE) }

        // The loop returns when nothing is left to wait for.
        unsafe event_free(beat)
        service.shutdown()
        _ = unsafe event_base_dispatch(base)
        unsafe event_base_free(base)

        let count = beats.load(ordering: .relaxed)
        print("libevent: \(ledger.ticks) ticks, \(count) events of the program's own")
        check(ledger.ticks == 30, "there were \(ledger.ticks) ticks instead of 30")
        check(count > 0, "the program's own event did not happen")
    }

    private static func noteBeat() { beats.add(1, ordering: .relaxed) }
}
