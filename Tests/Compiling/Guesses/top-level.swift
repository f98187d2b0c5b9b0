// swift-format-ignore-file
// The top level of main.swift. A call there is resolved to the form that blocks.
import PreciseTimer
import PreciseTimerTestKit

let timer = try PreciseTimer.schedule(.every(.seconds(1))) { print("tick") }
await Task.yield()
// error: in an async function; the top level needs one
await timer.cancelAndWait()
let virtual = VirtualTime()
// error: (at the top level, in a function of your own)
await virtual.advance(by: .seconds(5))
virtual.advanceWithoutSettling(by: .seconds(5))
