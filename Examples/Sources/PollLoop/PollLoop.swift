import Glibc
import PreciseTimer

/// A program with a loop over poll(2): it reads a pipe, and its timers tick in the same loop.
@main
enum PollLoop {
    static func main() throws {
        var pipe: [CInt] = [0, 0]
        guard unsafe Glibc.pipe(&pipe) == 0 else { fail("the system refuses a pipe") }
        let (reader, writer) = (pipe[0], pipe[1])

        let timers = try TimerService.pollable()
        let meter = Meter()
        try PreciseTimer.schedule(.every(.milliseconds(20)), on: timers.service, target: meter) { meter, tick in
            meter.note(tick)
            var byte: UInt8 = 1
            unsafe write(writer, &byte, 1)
        }

        var received = 0
        while meter.deadlines < 10 || received < meter.ticks {
            var requests = [
                pollfd(fd: reader, events: Int16(POLLIN), revents: 0),
                pollfd(fd: timers.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&requests, 2, 5_000) > 0 else { fail("nothing happened for five seconds") }
            if requests[0].revents != 0 {
                var bytes = [UInt8](repeating: 0, count: 64)
                received += unsafe read(reader, &bytes, bytes.count)
            }
            if requests[1].revents != 0 { timers.process() }
        }
        timers.service.shutdown()
        print("poll: \(meter.ticks) ticks for \(meter.deadlines) deadlines, \(meter.early) early, \(received) bytes")
        if meter.early > 0 { fail("a tick was early") }
    }

    static func fail(_ words: String) -> Never {
        print("failed:", words)
        exit(1)
    }
}
