/// The target of a timer of the library's own, such as a sleep or a time-out, which has no last tick.
protocol WithoutLastTick: AnyObject {}
