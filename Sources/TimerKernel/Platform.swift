// Every other target of the library is built after this one, so this message comes first.
#if !os(Linux)
#error("PreciseTimer needs Linux: this platform does not have timerfd, epoll and eventfd, which its alarms use.")
#elseif !canImport(Glibc)
#error("PreciseTimer needs glibc: this C library does not have the module Glibc, which makes its system calls.")
#endif
