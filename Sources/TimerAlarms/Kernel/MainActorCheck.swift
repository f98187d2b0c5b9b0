internal import Dispatch
internal import Glibc
internal import Synchronization

/// Reports in debug builds which code asked for the main actor on another thread, before that ends the process.
///
/// Off the main actor, `MainActor.assumeIsolated` and its relatives end in a trap of libdispatch, which prints nothing on
/// Linux. The Swift runtime calls a hook right before it (`swift_task_checkIsolated_hook` in its Concurrency.h). The hook
/// is set on first use, and calls the hook that was set before it. There is no report if the program has no such dynamic
/// symbol, as with a statically linked Swift runtime.
package enum MainActorCheck {
    /// The runtime's check. It and the hook are of Swift's calling convention, which for three words is that of C.
    private typealias Check = @convention(c) (_ identity: UInt, _ implementation: UInt) -> Void
    private typealias Hook = @convention(c) (_ identity: UInt, _ implementation: UInt, _ check: UInt) -> Void

    /// What a thread runs.
    private final class Frame {
        let warning: () -> String
        /// What it goes on with afterwards.
        let outer: Frame?

        init(_ warning: @escaping () -> String, in outer: Frame?) {
            self.warning = warning
            self.outer = outer
        }
    }

    /// Notes what the calling thread is about to run. Call ``end()`` on the same thread afterwards.
    ///
    /// - Parameter warning: makes the line for standard error if that code asks for the main actor in vain.
    package static func begin(_ warning: @escaping () -> String) {
        if isInstalled { exchange(Frame(warning, in: current)) }
    }

    /// Ends what ``begin(_:)`` began.
    package static func end() {
        if isInstalled { exchange(current?.outer) }
    }

    /// What the calling thread runs.
    private static var current: Frame? {
        guard let frame = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<Frame>.fromOpaque(frame).takeUnretainedValue()
    }

    /// Puts another in its place. The thread holds what is there.
    private static func exchange(_ frame: Frame?) {
        let before = unsafe pthread_getspecific(key)
        unsafe pthread_setspecific(key, frame.map { unsafe Unmanaged.passRetained($0).toOpaque() })
        if let before = unsafe before { unsafe Unmanaged<Frame>.fromOpaque(before).release() }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        unsafe pthread_key_create(&key, nil)
        return key
    }()

    private static let mainQueue = DispatchSpecificKey<Bool>()
    /// The hook that was there before; 0 if there was none.
    private static let former = Atomic<UInt>(0)

    /// Whether the hook is set, which the first use does.
    private static let isInstalled: Bool = {
        guard let symbol = unsafe dlsym(nil, "swift_task_checkIsolated_hook") else { return false }
        DispatchQueue.main.setSpecific(key: mainQueue, value: true)
        let hook = unsafe symbol.assumingMemoryBound(to: Hook?.self)
        former.store(unsafe unsafeBitCast(hook.pointee, to: UInt.self), ordering: .relaxed)
        unsafe hook.pointee = { identity, implementation, check in
            MainActorCheck.warn(of: identity)
            let former = MainActorCheck.former.load(ordering: .relaxed)
            if former != 0 {
                unsafe unsafeBitCast(former, to: Hook.self)(identity, implementation, check)
            } else {
                unsafe unsafeBitCast(check, to: Check.self)(identity, implementation)
            }
        }
        return true
    }()

    /// Whether the main actor's code may run here: on the main queue, or on the main thread.
    private static var isOnMain: Bool {
        KernelThread.current.isMain || DispatchQueue.getSpecific(key: mainQueue) == true
    }

    private static func warn(of identity: UInt) {
        guard let frame = current, !isOnMain else { return }
        let main = unsafe unsafeBitCast(MainActor.sharedUnownedExecutor, to: (UInt, UInt).self)
        if identity == main.0 { StandardError.write(frame.warning()) }
    }
}
