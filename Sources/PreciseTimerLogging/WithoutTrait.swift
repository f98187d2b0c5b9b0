#if !Logging
public import PreciseTimer

/// Without the trait, its uses are refused with an error that names it.
@available(*, unavailable, message: "name the trait Logging where your Package.swift names precise-timer")
public struct TimerLog {
    /// The levels of swift-log.
    public enum Level { case trace, debug, info, notice, warning, error, critical }

    /// Takes what the real one takes: of a call with other arguments, the compiler would say that they are wrong.
    public init(
        of service: TimerService,
        to logger: Any,
        service label: String? = nil,
        at level: Level = .info,
        every period: Duration = .zero,
        on reporting: TimerService = .default
    ) throws(TimerError) {}
}
#endif
