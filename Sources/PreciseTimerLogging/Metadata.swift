#if Logging
public import Logging
public import PreciseTimer

extension PreciseTimer.Tick {
    /// The facts of the tick, for a log line: `logger.warning("late", metadata: tick.metadata)`. Durations are in
    /// nanoseconds.
    public var metadata: Logger.Metadata {
        ["index": "\(index)", "lateness_ns": "\(nanoseconds(lateness))", "missed": "\(missed)"]
    }
}

extension PreciseTimer.Statistics {
    /// The statistics, for a log line. Durations are in nanoseconds; those that do not exist are left out.
    public var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["ticks": "\(ticks)", "missed": "\(missed)"]
        let durations = [
            ("lateness_p50_ns", lateness.percentile(0.5)), ("lateness_p99_ns", lateness.percentile(0.99)),
            ("lateness_max_ns", lateness.longest), ("handler_p99_ns", handlerTime.percentile(0.99)),
            ("handler_max_ns", handlerTime.longest),
        ]
        for (name, duration) in durations { metadata[name] = duration.map { "\(nanoseconds($0))" } }
        return metadata
    }
}

extension TimerService.SlowHandler {
    /// The facts of a slow handler, for a log line. Durations are in nanoseconds.
    public var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "place": "\(file):\(line)", "period_ns": "\(nanoseconds(period))",
            "longest_ns": "\(nanoseconds(longest))", "calls": "\(count)",
        ]
        metadata["label"] = label.map { "\($0)" }
        return metadata
    }
}

extension TimerError {
    /// The facts of the error, for a log line.
    public var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["code": "\(code)", "attempted": "\(attempted)"]
        metadata["errno"] = errno.map { "\($0)" }
        return metadata
    }
}

private func nanoseconds(_ duration: Duration) -> Int64 { duration.nanosecondsRoundedUp }
#endif
