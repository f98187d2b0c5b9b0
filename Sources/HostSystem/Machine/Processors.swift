internal import CLinuxTimers
internal import Glibc

/// The processors of the machine.
package enum Processors {
    /// The number of processors that are switched on.
    package static var online: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

    /// The number of processors that the calling thread may run on; nil if the kernel does not say.
    package static var usable: Int? {
        let count = usable_processors()
        return count > 0 ? Int(count) : nil
    }
}
