/// The ticks of a timer as an asynchronous sequence.
///
/// ```swift
/// for try await tick in PreciseTimer.ticks(.every(.milliseconds(10))) {
///     await step(missed: tick.missed)
/// }
/// ```
///
/// The timer begins with the iteration and ends with it, at once if the loop is left or its task is cancelled. Ticks
/// do not queue up for a slow consumer: the deadlines that pass while it is busy become one late tick with the right
/// ``PreciseTimer/Tick/missed``, or what the missed-tick policy says. A fixed delay counts from the moment its tick
/// was taken. Each iteration has its own timer.
///
/// The sequence ends after the last deadline, if the task is cancelled, and if the service is shut down. It throws a
/// `TimerError` if the timer could not be scheduled or its backend failed, once, and ends with it. Its `Failure` is
/// `any Error`, because an operator that combines two sequences may pass on the errors of one as those of the other.
public struct TimerTicks: AsyncSequence, Sendable, CustomStringConvertible {
    let schedule: PreciseTimer.Schedule
    /// Schedules a timer whose ticks come into a mailbox.
    let start: @Sendable (TickMailbox) throws(TimerError) -> PreciseTimer

    /// Starts the timer.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The schedule, as in `ticks every 10 ms`.
    public var description: String { "ticks \(schedule)" }

    /// One run of the timer, for one consumer.
    public struct Iterator: AsyncIteratorProtocol, CustomReflectable {
        /// Nil after an error was thrown.
        private var timer: Result<Consumed, TimerError>?

        init(_ ticks: TimerTicks) { timer = Result { () throws(TimerError) in try Consumed(ticks) } }

        /// Shows the type alone.
        public var customMirror: Mirror { Mirror(self, children: [:]) }

        /// Waits for the next tick and returns it; nil after the last tick, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> PreciseTimer.Tick? {
            do {
                guard let timer = try timer?.get() else { return nil }
                let tick = await withTaskCancellationHandler {
                    await timer.mailbox.next()
                } onCancel: {
                    timer.handle.cancel()
                }
                if tick == nil, case .backendFailed(let error) = timer.mailbox.ending { throw error }
                return tick
            } catch {
                timer = nil
                throw error
            }
        }
    }

    /// A timer and its mailbox. Both end with the iterator.
    private final class Consumed: Sendable {
        let mailbox: TickMailbox
        let handle: PreciseTimer

        init(_ ticks: TimerTicks) throws(TimerError) {
            mailbox = TickMailbox()
            handle = try ticks.start(mailbox)
        }

        deinit { handle.cancel() }
    }
}

extension PreciseTimer {
    /// The ticks of a timer, as a sequence that a task waits for.
    ///
    /// - Parameters:
    ///   - schedule: when to tick, counted from the beginning of an iteration.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what happens to deadlines that could not be met, or that passed while the consumer was busy.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    /// - Returns: the sequence. The timer is scheduled when an iteration begins.
    public static func ticks(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> TimerTicks {
        TimerTicks(schedule: schedule) { mailbox throws(TimerError) in
            let request = try TimerRequest(tolerance, missedTicks, false, file, line)
            return try request.start(schedule, .mailbox(mailbox), target: mailbox, nil, on: service, label) {
                mailbox.end($0)
            }
        }
    }
}
