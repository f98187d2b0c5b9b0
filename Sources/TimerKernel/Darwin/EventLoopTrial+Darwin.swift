#if canImport(Darwin) || KQUEUE
/// The check of the descriptors that a library is about to need. On a Mac, none of the libraries ends the process
/// without them: the loops of Dispatch and of Foundation take ports of Mach.
package enum EventLoopTrial {
    package static func check(_ count: Int = 0, spare: Int = 0) throws(TimerError) {}
}
#endif
