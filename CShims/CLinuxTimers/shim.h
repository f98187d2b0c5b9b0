// What Linux offers for timers and Swift's Glibc module leaves out.

// First, so that this module and the Glibc module agree on every feature macro.
#include <features.h>

#include <sys/prctl.h>
#include <sys/timerfd.h>

// prctl is variadic, which Swift cannot call.
static inline int thread_name_set(const char *name) {
    return prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
}

static inline int timer_slack_set(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}
