import Foundation
import PreciseTimer

/// Checks promises of the library that depend on the kernel, as root in a guest with two processors.
///
///     kernels-probe ROW
///
/// Services and busy threads are pinned to processor 0. The main thread judges them from processor 1, on which nothing
/// else is busy.
@main enum KernelsProbe {
    static func main() {
        let rows = [
            "1": Rows.clocks, "2": Rows.grants, "3": Rows.inheritance, "4": Rows.besideASpin, "5": Rows.pinned,
            "6": Rows.clocks, "7": Rows.suspension,
        ]
        let name = CommandLine.arguments.last ?? ""
        do {
            try System.pinMainThread(to: 1)
            if let row = rows[name] { try row() } else { Rows.say(false, "there is no row \(name)") }
        } catch {
            Rows.say(false, "row \(name): \(error)")
        }
    }
}

/// The rows. Each prints lines, and a broken promise is a line that begins with FAIL.
enum Rows {
    static let period = Duration.milliseconds(10)

    static func say(_ isKept: Bool, _ text: String) {
        // At once: the guest may be ended in the middle of a row.
        FileHandle.standardOutput.write(Data("\(isKept ? "ok  " : "FAIL") \(text)\n".utf8))
    }
}

/// A backend, and one of its clocks.
struct Kind: Sendable, CustomStringConvertible {
    let backend: TimerService.Backend
    let clock: TimerClock

    static func all(of backends: [TimerService.Backend] = TimerService.Backend.allCases) -> [Kind] {
        backends.flatMap { backend in
            TimerClock.allCases.filter(backend.clocks.contains).map { Kind(backend: backend, clock: $0) }
        }
    }

    var description: String { "\(backend) on \(clock)" }

    func service(_ options: TimerService.ThreadOptions = TimerService.ThreadOptions()) throws -> TimerService {
        try TimerService(backend, clock: clock, thread: options)
    }
}
