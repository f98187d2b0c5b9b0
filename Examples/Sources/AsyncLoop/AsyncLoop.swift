import ExampleSupport
import PreciseTimer
import PreciseTimerPatterns

/// A sensor that answers at once, but whose tenth reading is stuck until it is cancelled.
actor Sensor {
    private var readings = 0

    func read() async throws -> Double {
        readings += 1
        if readings == 10 { try await Task.sleep(for: .seconds(3_600)) }
        return Double(readings)
    }
}

/// A loop that reads a sensor every 20 ms, gives up a reading after 100 ms, and knows how many deadlines that cost.
@main
enum AsyncLoop {
    static func main() async throws {
        let (sensor, ledger) = (Sensor(), Ledger())
        var (values, gaps) = (0, 0)
        for try await tick in PreciseTimer.ticks(.every(.milliseconds(20), count: 30)) {
            ledger.note(tick)
            let value = try? await withTimeout(.milliseconds(100)) { try await sensor.read() }
            if value != nil { values += 1 } else { gaps += 1 }
        }
        print("sensor: \(values) values, \(gaps) stuck; missed \(ledger.missed) of \(ledger.deadlines) deadlines")
        check(values == 29 && gaps == 1, "there were not 29 values and one stuck reading")
        check(ledger.missed >= 4, "a reading of 100 ms missed fewer than four deadlines")
        check(TimerService.default.activeTimers.isEmpty, "the loop has ended, its timer has not")
    }
}
