// The names that the snippets of the documentation use without declaring them. .ci/snippets compiles the snippets with
// this file. An extension of README_md, or of another file of snippets, declares names for that file alone.
import Dispatch
import PreciseTimer
import PreciseTimerTestKit

/// The "…" of a snippet.
func elided() {}

final class Model: Sendable {
    func refresh() {}
    func refresh(with info: String) {}
    func resynchronise() {}
    func step() {}
    func step(_ tick: PreciseTimer.Tick) {}
    func step(missed: UInt64) {}
    func step(milliseconds: UInt64) {}
    var title: String { "" }
}

final class Connection: Sendable {
    func close() {}
}

/// An alarm of the reader's.
final class MyAlarm: TimerAlarm {
    init() throws {}
    var now: TimerInstant { TimerClock.suspending.now }
    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {}
    func set(_ deadline: TimerInstant?) {}
    func stop() {}
}

/// An API that retains its callback.
final class Legacy {
    var callback: (() -> Void)?
}

let (model, controller, loop) = (Model(), Model(), Model())
let (connection, peer) = (Connection(), Connection())
nonisolated(unsafe) let legacy = Legacy()
let info = ""
let queue = DispatchQueue(label: "snippets")
let service = TimerService.default
let virtual = VirtualTime()

func log(_ value: Any) {}
func step(missed: UInt64) async {}
