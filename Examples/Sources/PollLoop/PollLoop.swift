import ExampleSupport
import Glibc
import PreciseTimer
import PreciseTimerExecutor

/// A program with a loop over poll(2): it reads a pipe, and its timers and a task run in the same loop.
@main
enum PollLoop {
    static func main() throws {
        var pipe: [CInt] = [0, 0]
        check(unsafe Glibc.pipe(&pipe) == 0, "the system refuses a pipe")
        let (reader, writer) = (pipe[0], pipe[1])

        let timers = try TimerService.pollable()
        let ledger = Ledger()
        try PreciseTimer.schedule(.every(.milliseconds(20)), on: timers.service, target: ledger) { ledger, tick in
            ledger.note(tick)
            var byte: UInt8 = 1
            unsafe write(writer, &byte, 1)
        }

        // A task on the loop's thread.
        let (executor, steps, thread) = (TimerExecutor(on: timers.service), Ledger(), pthread_self())
        Task(executorPreference: executor) {
            for try await tick in PreciseTimer.ticks(.every(.milliseconds(15), count: 10), on: timers.service) {
                steps.note(tick)
                check(pthread_self() == thread, "the task ran on another thread")
            }
        }

        var received = 0
        while ledger.deadlines < 10 || steps.deadlines < 10 || received < ledger.ticks {
            var requests = [
                pollfd(fd: reader, events: Int16(POLLIN), revents: 0),
                pollfd(fd: timers.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            check(unsafe poll(&requests, 2, 30_000) > 0, "nothing happened for half a minute")
            if requests[0].revents != 0 {
                var bytes = [UInt8](repeating: 0, count: 64)
                received += unsafe read(reader, &bytes, bytes.count)
            }
            if requests[1].revents != 0 { timers.process() }
        }
        timers.service.shutdown()
        print("poll: \(ledger.ticks) ticks for \(ledger.deadlines) deadlines, \(received) bytes")
        print("a task on the same thread: \(steps.ticks) steps")
        check(received == ledger.ticks, "a tick left no byte")
    }
}
