internal import Foundation
package import Testing

/// What a test needs of the system, and not every system has.
package enum Platform {
    #if os(Linux) && !KQUEUE
    /// Whether the library uses the calls that Linux alone has: thread options, a watch of the wall clock.
    package static let isLinux = true
    #else
    package static let isLinux = false
    #endif

    #if KQUEUE
    /// Whether the kernel's timer has a descriptor as any other. That of libkqueue has not: it is an end of a pipe,
    /// which nobody makes readable, and the trial never closes it.
    package static let hasDescriptor = false
    #else
    package static let hasDescriptor = true
    #endif

    /// Whether the kernel tells of this process in files, as in proc(5).
    package static let hasProc = FileManager.default.fileExists(atPath: "/proc/self/stat")

    /// How many processors the process may use.
    package static let processors = hasProc ? ProcFS.processors.count : ProcessInfo.processInfo.activeProcessorCount
}

extension Trait where Self == ConditionTrait {
    /// The test is about calls of Linux.
    package static var needsLinux: Self { .enabled(if: Platform.isLinux, "needs calls of Linux") }
    /// The test waits for the descriptor of the kernel's timer, or closes it.
    package static var needsDescriptor: Self { .enabled(if: Platform.hasDescriptor, "libkqueue has none") }
    /// The test reads what the kernel tells of this process.
    package static var needsProc: Self { .enabled(if: Platform.hasProc, "needs /proc") }
}
