// The system as TimerKernel sees it: what Swift cannot call itself, and what differs from one system to the next. Both
// headers below have the functions of the first part of linux.h. No Swift file of the library imports a C library by
// its name.
#if defined(__linux__) && !defined(PRECISE_TIMER_KQUEUE)
#include "linux.h"
#else
#include "darwin.h"
#endif
