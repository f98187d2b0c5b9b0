internal import Glibc
internal import PreciseTimer

// The functions of CHost/ticks.h, which describes them. Swift 6.3 also spells `@_cdecl` as `@c`. A handle of C is a
// retained object. Only such pointers, numbers and messages cross the border.

/// The timers of one loop, as a C program holds them.
final class Ticks {
    let service: TimerService
    /// For a loop that waits for a descriptor.
    let pollable: PollableTimers?

    init(_ service: TimerService, _ pollable: PollableTimers? = nil) {
        (self.service, self.pollable) = (service, pollable)
    }
}

/// A function of the C program.
public typealias TicksCallback = @convention(c) (UnsafeMutableRawPointer?, UInt64, UInt64, UInt64) -> Void

/// A function of the C program, with its context.
///
/// It is `@unchecked Sendable` because the service calls it on the loop's thread only, and ticks.h says so to C.
@safe private struct Callback: @unchecked Sendable {
    let function: TicksCallback
    let context: UnsafeMutableRawPointer?

    func call(_ tick: PreciseTimer.Tick) {
        let lateness = tick.delivered.nanoseconds - tick.deadline.nanoseconds
        unsafe function(context, UInt64(tick.index), UInt64(tick.missed), lateness)
    }
}

/// Timers on a libevent loop.
@_cdecl("ticks_attach")
public func ticksAttach(
    _ base: OpaquePointer,
    _ service: UnsafeMutablePointer<OpaquePointer?>,
    _ message: UnsafeMutablePointer<CChar>
) -> CInt {
    unsafe make(service, message) { () throws(TimerError) in Ticks(try unsafe TimerService(attachedTo: base)) }
}

/// Timers for a loop over epoll, poll or select.
@_cdecl("ticks_open")
public func ticksOpen(
    _ service: UnsafeMutablePointer<OpaquePointer?>,
    _ message: UnsafeMutablePointer<CChar>
) -> CInt {
    unsafe make(service, message) { () throws(TimerError) in
        let timers = try TimerService.pollable()
        return Ticks(timers.service, timers)
    }
}

/// The descriptor that is readable when a timer is due; -1 on a libevent loop.
@_cdecl("ticks_descriptor")
public func ticksDescriptor(_ service: OpaquePointer) -> CInt {
    unsafe object(service, as: Ticks.self).pollable?.descriptor ?? -1
}

/// Calls the callbacks of the due timers.
@_cdecl("ticks_process")
public func ticksProcess(_ service: OpaquePointer) { unsafe object(service, as: Ticks.self).pollable?.process() }

/// Starts a timer.
@_cdecl("ticks_start")
public func ticksStart(
    _ service: OpaquePointer,
    _ period: UInt64,
    _ function: TicksCallback,
    _ context: UnsafeMutableRawPointer?,
    _ timer: UnsafeMutablePointer<OpaquePointer?>,
    _ message: UnsafeMutablePointer<CChar>
) -> CInt {
    let (service, callback) = unsafe (
        object(service, as: Ticks.self).service, Callback(function: function, context: context)
    )
    return unsafe make(timer, message) { () throws(TimerError) in
        // The handle is the target, so the timer lives until C gives the handle back.
        try PreciseTimer.schedule(.every(.nanoseconds(Int64(clamping: period))), on: service) { _, tick in
            callback.call(tick)
        }
    }
}

/// Ends a timer, and gives its handle back.
@_cdecl("ticks_stop")
public func ticksStop(_ timer: OpaquePointer) { unsafe release(timer, as: PreciseTimer.self).cancel() }

/// Ends the timers of a loop, and gives the handle back.
@_cdecl("ticks_close")
public func ticksClose(_ service: OpaquePointer) { unsafe release(service, as: Ticks.self).service.shutdown() }

/// Gives C a retained object, or the error's number and message.
private func make<Object: AnyObject>(
    _ handle: UnsafeMutablePointer<OpaquePointer?>,
    _ message: UnsafeMutablePointer<CChar>,
    _ body: () throws(TimerError) -> Object
) -> CInt {
    do throws(TimerError) {
        unsafe handle.pointee = OpaquePointer(Unmanaged.passRetained(try body()).toOpaque())
        return 0
    } catch {
        // TICKS_MESSAGE bytes, of which the last one ends the text.
        let bytes = "\(error)".utf8.prefix(255)
        for (place, byte) in bytes.enumerated() { unsafe message[place] = CChar(bitPattern: byte) }
        unsafe message[bytes.count] = 0
        return error.errno ?? (error.code == .invalidSchedule ? EINVAL : ENOTSUP)
    }
}

func object<Object: AnyObject>(_ handle: OpaquePointer, as type: Object.Type) -> Object {
    unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

func release<Object: AnyObject>(_ handle: OpaquePointer, as type: Object.Type) -> Object {
    unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeRetainedValue()
}
