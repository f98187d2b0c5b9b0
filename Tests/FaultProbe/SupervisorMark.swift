import Glibc

/// Tells a supervisor of the probe's system calls (`.ci/refusals`) which step begins.
///
/// The mark is a call that asks for the session of a process that cannot exist. Without a supervisor it fails, and has
/// no effect.
enum SupervisorMark {
    private static let first: pid_t = -1_000
    private static let end: pid_t = -999

    /// A step begins.
    static func set(_ step: Int) { _ = getsid(first - pid_t(step)) }

    /// All steps have ended.
    static func setEnd() { _ = getsid(end) }
}
