#if canImport(Darwin) || KQUEUE
/// The process's limit on real-time threads: a Mac has none.
package enum RealTimeLimit {
    package static var nanoseconds: UInt64? { nil }

    package static func allows(stretch: UInt64) -> Bool { true }
}
#endif
