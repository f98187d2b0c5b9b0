// The public types of TimerCore (TimerInstant, TimerClock, TimerError) belong to this module's surface: whoever imports
// PreciseTimer sees them and their members.
@_exported public import TimerCore
