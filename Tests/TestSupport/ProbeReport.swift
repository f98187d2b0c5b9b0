/// The report of a fault probe, which it writes to its standard output for the test that started it.
package struct ProbeReport: Codable, Sendable {
    /// One step of the probe, from its command line.
    package struct Step: Codable, Sendable {
        /// The step's argument.
        package let text: String
        /// The duration of the step.
        package let seconds: Double
        /// The processor time that the process used during the step.
        package let cpuSeconds: Double
        /// Whether the step's condition came true.
        package let isMet: Bool
        /// The error that the step got.
        package let refusal: Refusal?

        package init(text: String, seconds: Double, cpuSeconds: Double, isMet: Bool, refusal: Refusal?) {
            (self.text, self.seconds, self.cpuSeconds) = (text, seconds, cpuSeconds)
            (self.isMet, self.refusal) = (isMet, refusal)
        }

        /// The number of processors that the process kept busy.
        package var load: Double { seconds > 0 ? cpuSeconds / seconds : 0 }
    }

    /// A `TimerError`.
    package struct Refusal: Codable, Sendable {
        package let code: String
        package let errno: Int32?
        package let text: String

        package init(code: String, errno: Int32?, text: String) {
            (self.code, self.errno, self.text) = (code, errno, text)
        }
    }

    /// One timer from its schedule to its end.
    package struct Timer: Codable, Sendable {
        package let ticks: [Tick]
        /// Every reason passed to its `onEnd`; the code of the error if the backend failed.
        package let ends: [String]
        /// The text of each of those errors.
        package let failures: [String]
        /// The first fault in its ticks; nil if no tick is lost, invented, early or off the grid.
        package let flaw: String?

        package init(ticks: [Tick], ends: [String], failures: [String], flaw: String?) {
            (self.ticks, self.ends, self.failures, self.flaw) = (ticks, ends, failures, flaw)
        }
    }

    /// One tick, with instants in nanoseconds of the service's clock.
    package struct Tick: Codable, Sendable {
        package let index: UInt64
        package let missed: UInt64
        package let deadline: UInt64
        package let woke: UInt64
        package let delivered: UInt64

        package init(index: UInt64, missed: UInt64, deadline: UInt64, woke: UInt64, delivered: UInt64) {
            (self.index, self.missed) = (index, missed)
            (self.deadline, self.woke, self.delivered) = (deadline, woke, delivered)
        }
    }

    package let steps: [Step]
    package let timers: [Timer]
    /// The number of calls that the preloaded library refused.
    package let refusedCalls: Int

    package init(steps: [Step], timers: [Timer], refusedCalls: Int) {
        (self.steps, self.timers, self.refusedCalls) = (steps, timers, refusedCalls)
    }

    /// The first step with this prefix.
    package func step(_ prefix: String) -> Step? { steps.first { $0.text.hasPrefix(prefix) } }
}
