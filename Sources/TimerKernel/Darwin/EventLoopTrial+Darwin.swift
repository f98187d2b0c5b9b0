#if canImport(Darwin) || KQUEUE
/// The check of the descriptors that a library is about to need. On a Mac the loops of Dispatch and of Foundation need
/// ports of Mach in their place. For libevent nothing is tried.
package enum EventLoopTrial {
    package static func check(_ count: Int = 0, spare: Int = 0) throws(TimerError) {}
}
#endif
