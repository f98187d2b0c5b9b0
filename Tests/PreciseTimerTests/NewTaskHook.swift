import Foundation
import TestSupport

/// Lets something happen once, when a task has been handed to the threads for tasks, and before the code that made it
/// goes on. Only for a test's separate process.
enum NewTaskHook {
    /// The runtime's functions use Swift's calling convention, which for two words equals that of C.
    private typealias Original = @convention(c) (_ job: UInt) -> Void
    private typealias Hook = @convention(c) (_ job: UInt, _ original: UInt) -> Void

    #if canImport(Darwin)
    /// RTLD_DEFAULT, a macro that Swift does not see.
    private nonisolated(unsafe) static let program = UnsafeMutableRawPointer(bitPattern: -2)
    #else
    private nonisolated(unsafe) static let program: UnsafeMutableRawPointer? = nil
    #endif

    private struct Event { let call: @Sendable () -> Void }

    private static let event = Box<Event>()

    /// Waits for the next task. Sets the runtime's hook (`swift_task_enqueueGlobal_hook` in its Concurrency.h). Returns
    /// false if the runtime has no such hook.
    static func set(_ event: @escaping @Sendable () -> Void) -> Bool {
        guard let symbol = unsafe dlsym(program, "swift_task_enqueueGlobal_hook") else { return false }
        self.event.value = Event(call: event)
        let hook = unsafe symbol.assumingMemoryBound(to: Hook?.self)
        unsafe hook.pointee = { job, original in
            let event = NewTaskHook.event.value
            NewTaskHook.event.value = nil
            unsafe unsafeBitCast(original, to: Original.self)(job)
            event?.call()
        }
        return true
    }
}
