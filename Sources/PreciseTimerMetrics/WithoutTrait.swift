#if !Metrics
public import PreciseTimer

/// Without the trait, its uses are refused with an error that names it.
@available(*, unavailable, message: "name the trait Metrics where your Package.swift names precise-timer")
public struct TimerMetrics {
    /// Takes what the real one takes: of a call with other arguments, the compiler would say that they are wrong.
    public init(
        of service: TimerService,
        name: String = "",
        service label: String? = nil,
        every period: Duration = .zero,
        recordsNaN: Bool = false,
        factory: Any? = nil,
        on reporting: TimerService = .default
    ) throws(TimerError) {}
}
#endif
