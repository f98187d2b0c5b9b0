internal import Glibc

/// The environment that programs take over from this process.
package enum Environment {
    /// Removes a variable. Call it while no other thread reads the environment: glibc does not guard it.
    package static func remove(_ name: String) { _ = unsafe unsetenv(name) }
}
