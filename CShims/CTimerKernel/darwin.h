// A Mac. What concerns kqueue(2) can be tried on Linux over libkqueue: see .ci/platforms/kqueue. The parts that a Mac
// has alone are the conditions on __APPLE__; on Linux, what stands in for them is no more than the trial needs.

#if !defined(__APPLE__)
#include <features.h>
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <mach/mach_init.h>
#include <mach/mach_time.h>
#include <mach/thread_act.h>
#include <mach/thread_policy.h>
#include <pthread/qos.h>
#else
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

// ---- Clocks ----

#if defined(__APPLE__)

// The clocks: one that stops while the machine is suspended, and one that does not (clock_gettime(3)). They are those
// of mach_absolute_time(3) and mach_continuous_time(3).
static const clockid_t clock_suspending = CLOCK_UPTIME_RAW;
static const clockid_t clock_continuous = CLOCK_MONOTONIC_RAW;

// Nanoseconds since a clock's origin in its ticks, rounded up, so that a clock that has reached them has reached the
// nanoseconds. A tick is 1 ns on Intel processors, and 125/3 ns on Apple's.
static inline uint64_t clock_ticks(uint64_t nanoseconds) {
    mach_timebase_info_data_t tick;
    mach_timebase_info(&tick);
    __uint128_t ticks = ((__uint128_t)nanoseconds * tick.denom + tick.numer - 1) / tick.numer;
    return ticks > INT64_MAX ? INT64_MAX : (uint64_t)ticks;
}

// What an instant is in kevent(2): ticks of one of the two clocks. NOTE_CRITICAL: the kernel does not move the expiry
// to share a wake-up.
static const unsigned int timer_notes = NOTE_ABSOLUTE | NOTE_MACHTIME | NOTE_CRITICAL;
static const unsigned int timer_notes_continuous = NOTE_MACH_CONTINUOUS_TIME;

#else

static const clockid_t clock_suspending = CLOCK_MONOTONIC;
static const clockid_t clock_continuous = CLOCK_BOOTTIME;

static inline uint64_t clock_ticks(uint64_t nanoseconds) {
    return nanoseconds > INT64_MAX ? INT64_MAX : nanoseconds;
}

// libkqueue has one clock, the monotonic one. The other one equals it on a machine that was never suspended.
static const unsigned int timer_notes = NOTE_ABSOLUTE | NOTE_NSECONDS;
static const unsigned int timer_notes_continuous = 0;

#endif

// Sleeps until an instant of the suspending clock. Signals do not end the sleep.
static inline void sleep_until(const struct timespec *instant) {
#if defined(__APPLE__)
    uint64_t ticks = clock_ticks((uint64_t)instant->tv_sec * 1000000000 + (uint64_t)instant->tv_nsec);
    // A signal ends the call early.
    while (mach_absolute_time() < ticks) {
        mach_wait_until(ticks);
    }
#else
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, instant, NULL) == EINTR) {
    }
#endif
}

// ---- Threads ----

// Starts a detached thread, of the highest quality of service: the kernel does not move the wake-ups of such a thread
// to share them with others. Returns 0 or the error.
static inline int thread_create(void *(*body)(void *), void *argument) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if defined(__APPLE__)
    pthread_attr_set_qos_class_np(&attributes, QOS_CLASS_USER_INTERACTIVE, 0);
#endif
    pthread_t thread;
    error = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

static inline int thread_name_set(const char *name) {
#if defined(__APPLE__)
    return pthread_setname_np(name);
#else
    return prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
#endif
}

// The number of the calling thread. The library does not ask a Mac about a thread by its number.
static inline int thread_id(void) {
    return 0;
}

// Whether the calling thread is the one that the process began with.
static inline int thread_is_main(void) {
#if defined(__APPLE__)
    return pthread_main_np();
#else
    return (int)syscall(SYS_gettid) == getpid();
#endif
}

// A new thread has a quality of service of its own, and no thread is bound to processors.
static inline void thread_resemble_main(void) {
}

static inline void thread_unpin(void) {
}

// Gives the calling thread a runtime in each period, before a deadline; in nanoseconds (THREAD_TIME_CONSTRAINT_POLICY
// of mach/thread_policy.h). Returns 0 or the error.
static inline int thread_deadline_set(uint64_t runtime, uint64_t deadline, uint64_t period) {
#if defined(__APPLE__)
    struct thread_time_constraint_policy policy = {
        .period = (uint32_t)clock_ticks(period),
        .computation = (uint32_t)clock_ticks(runtime),
        .constraint = (uint32_t)clock_ticks(deadline),
        .preemptible = 1,
    };
    mach_port_t thread = pthread_mach_thread_np(pthread_self());
    kern_return_t result = thread_policy_set(
        thread, THREAD_TIME_CONSTRAINT_POLICY, (thread_policy_t)&policy, THREAD_TIME_CONSTRAINT_POLICY_COUNT
    );
    return result == KERN_SUCCESS ? 0 : EINVAL;
#else
    return ENOTSUP;
#endif
}

// Whether the calling thread must not yield its processor: a thread of a Mac may.
static inline int thread_is_real_time(void) {
    return 0;
}

// Whether the main thread has a real-time policy, which the library's threads do not take over.
static inline int main_is_real_time(void) {
    return 0;
}

// How many times the calling thread has waited: a Mac does not tell.
static inline long thread_sleeps(void) {
    return -1;
}

// Ends the calling thread. It has no destructors but the system's own.
__attribute__((noreturn)) static inline void thread_end(void) {
    pthread_exit(NULL);
}

// A Mac has no memory that it clears in a forked child.
static inline void *page_cleared_by_fork(void) {
    return NULL;
}

// The number of processors that the calling thread or the main thread may run on; negative if the kernel does not say.
static inline int processors_of_main_and_this(void) {
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

// The address of a symbol of the program; NULL if there is none.
static inline void *symbol_find(const char *name) {
#if defined(__APPLE__)
    return dlsym(RTLD_DEFAULT, name);
#else
    return dlsym(NULL, name);
#endif
}

// ---- A timer of the kernel: a kqueue with one EVFILT_TIMER ----

// Makes a queue. A child that this process forks does not have it, and a program that it executes closes it.
static inline int timer_queue_create(void) {
    int queue = kqueue();
    if (queue >= 0) {
        fcntl(queue, F_SETFD, FD_CLOEXEC);
    }
    return queue;
}

// Disarms the queue's timer, whether it is set or not.
static inline int timer_queue_clear(int queue) {
    struct kevent change;
    EV_SET(&change, 1, EVFILT_TIMER, EV_DELETE, 0, 0, NULL);
    int result = kevent(queue, &change, 1, NULL, 0, NULL);
    return result != 0 && errno == ENOENT ? 0 : result;
}

// Sets the queue's timer to an instant. It expires once: an absolute timer never repeats.
static inline int timer_queue_set(int queue, uint64_t nanoseconds, int is_continuous) {
    struct kevent change;
    unsigned int notes = timer_notes | (is_continuous ? timer_notes_continuous : 0);
    EV_SET(&change, 1, EVFILT_TIMER, EV_ADD, notes, (intptr_t)clock_ticks(nanoseconds), NULL);
    return kevent(queue, &change, 1, NULL, 0, NULL);
}

// Takes the timer's expiry, and waits for it if asked. Returns 1, 0 if there was none, or -1.
static inline int timer_queue_take(int queue, int waits) {
    struct kevent event;
    struct timespec none = {0, 0};
    return kevent(queue, NULL, 0, &event, 1, waits ? NULL : &none);
}
