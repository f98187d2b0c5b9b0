// What Linux offers for timers and Swift's Glibc module leaves out.

// First, so that this module and the Glibc module agree on every feature macro.
#include <features.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

// prctl is variadic, which Swift cannot call.
static inline int thread_name_set(const char *name) {
    return prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
}

static inline int timer_slack_set(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}

static inline long timer_slack(void) {
    return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

// syscall is variadic, and what glibc has for these it shows to GNU sources only.
static inline int thread_id(void) {
    return (int)syscall(SYS_gettid);
}

// A file without a name, closed in programs that are executed (memfd_create(2)).
static inline int memory_file_create(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1U);
}

// How many processors the calling thread may run on; negative where the kernel does not say. The mask is of 64-bit words,
// enough of them for the largest machines.
static inline int usable_processors(void) {
    unsigned long mask[1024] = {0};
    long size = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
    if (size < 0) {
        return -1;
    }
    int count = 0;
    for (long word = 0; word < size / (long)sizeof(mask[0]); word++) {
        count += __builtin_popcountl(mask[word]);
    }
    return count;
}
