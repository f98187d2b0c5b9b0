/// The target of a timer of the library's own, such as a sleep or a time-out, which has no last tick. For the patterns,
/// too.
package protocol WithoutLastTick: AnyObject {}
