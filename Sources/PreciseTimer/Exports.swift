// The public types of the modules below (TimerInstant, TimerClock, TimerError, and the protocol TimerAlarm) belong to
// this module's surface: an import of PreciseTimer includes them and their members.
@_exported public import TimerAlarms
@_exported public import TimerKernel
