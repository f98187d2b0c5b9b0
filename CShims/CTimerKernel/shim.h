// The system as TimerKernel sees it: what Swift cannot call itself, and what differs from one system to the next. The
// functions of linux.h up to its line are also in darwin.h; those below are the same everywhere. No Swift file of the
// library imports a C library by its name. With C++ interoperability, a whole build reads them as C++.
#include <stdbool.h>
#include <stdint.h>

#if defined(__linux__) && !defined(PRECISE_TIMER_KQUEUE)
#include "linux.h"
#else
#include "darwin.h"
#endif

// errno is a macro, which Swift does not see.
static inline int last_error(void) {
    return errno;
}

// glibc declares that the result of pthread_self() never changes. So the compiler may keep an earlier result across
// a suspension of an async function, which may resume on another thread. This function is called each time.
__attribute__((noinline, unused)) static unsigned long thread_identity(void) {
    unsigned long identity = (unsigned long)pthread_self();
    __asm__ volatile("" : "+r"(identity) : : "memory");
    return identity;
}

// The Swift runtime's question whether the calling thread occupies an executor (Concurrency.h), which the standard
// library asks in `Task.immediate`. Swift code cannot declare it anew: the compiler knows it with a built-in type.
// Without flags, which 0 says, the runtime only answers, and never ends the process.
#ifdef __cplusplus
extern "C"
#endif
__attribute__((swiftcall)) bool
swift_task_isCurrentExecutorWithFlags(uintptr_t identity, uintptr_t implementation, uint64_t flags);

static inline bool executor_is_current(uintptr_t identity, uintptr_t implementation) {
    return swift_task_isCurrentExecutorWithFlags(identity, implementation, 0);
}

// Tells the processor that this thread waits in a loop: it leaves memory alone for ten to fifty nanoseconds. ARM's own
// hint, yield, does nothing on a processor without hardware threads; isb waits until the pipeline is empty.
static inline void processor_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

// Closes the descriptor of a timer.
static inline int timer_close(int descriptor) {
    return close(descriptor);
}
