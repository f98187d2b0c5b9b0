// A library to preload: while a fault is armed, it makes calls of the C library fail. It also counts allocations.
//
// The probe can arm a fault at an exact moment, which other means of injecting faults cannot do.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// The names of the calls that fail, separated by commas.
static char names[128];
static int error_number;
static atomic_int is_armed;
// How many calls succeed first, and how many fail after that; 0 for every second call.
static atomic_int passes;
static atomic_int refusals;
static int alternates;
static atomic_int turn;
static atomic_int refused;

void fault_arm(const char *calls, int error, int skipped, int times) {
    atomic_store(&is_armed, 0);
    strncpy(names, calls, sizeof names - 1);
    error_number = error;
    atomic_store(&passes, skipped);
    atomic_store(&refusals, times);
    alternates = times == 0;
    atomic_store(&is_armed, 1);
}

void fault_disarm(void) { atomic_store(&is_armed, 0); }

// The number of failed calls.
int fault_count(void) { return atomic_load(&refused); }

static int is_named(const char *name) {
    size_t length = strlen(name);
    for (const char *found = strstr(names, name); found != NULL; found = strstr(found + 1, name)) {
        char after = found[length];
        if ((found == names || found[-1] == ',') && (after == '\0' || after == ',')) {
            return 1;
        }
    }
    return 0;
}

// Whether a call must fail; sets errno if so.
static int fails(const char *name) {
    if (!atomic_load(&is_armed) || !is_named(name)) {
        return 0;
    }
    if (atomic_load(&passes) > 0 && atomic_fetch_sub(&passes, 1) > 0) {
        return 0;
    }
    if (alternates ? atomic_fetch_add(&turn, 1) % 2 == 0 : atomic_fetch_sub(&refusals, 1) <= 0) {
        return 0;
    }
    atomic_fetch_add(&refused, 1);
    errno = error_number;
    return 1;
}

#define REFUSE(result, name, parameters, arguments)                                                \
    result name parameters {                                                                       \
        static result(*real) parameters;                                                           \
        if (fails(#name)) {                                                                        \
            return (result)-1;                                                                     \
        }                                                                                          \
        if (real == NULL) {                                                                        \
            real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                  \
        }                                                                                          \
        return real arguments;                                                                     \
    }

REFUSE(int, timerfd_create, (int clock, int flags), (clock, flags))
REFUSE(int, epoll_create1, (int flags), (flags))
REFUSE(int, epoll_create, (int size), (size))
REFUSE(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *event),
       (epoll, operation, fd, event))
REFUSE(int, epoll_wait, (int epoll, struct epoll_event *events, int count, int timeout),
       (epoll, events, count, timeout))
REFUSE(int, epoll_pwait, (int epoll, struct epoll_event *events, int count, int timeout, const sigset_t *mask),
       (epoll, events, count, timeout, mask))
REFUSE(int, epoll_pwait2,
       (int epoll, struct epoll_event *events, int count, const struct timespec *timeout, const sigset_t *mask),
       (epoll, events, count, timeout, mask))
REFUSE(int, poll, (struct pollfd *fds, nfds_t count, int timeout), (fds, count, timeout))
REFUSE(int, ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
       (fds, count, timeout, mask))
REFUSE(int, eventfd, (unsigned int value, int flags), (value, flags))
REFUSE(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))

// `cancel_on_set` refuses only settings that ask for TFD_TIMER_CANCEL_ON_SET, as the kernel of gVisor does.
int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (fails("timerfd_settime") || (flags & TFD_TIMER_CANCEL_ON_SET && fails("cancel_on_set"))) {
        return -1;
    }
    if (real == NULL) {
        real = (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT, "timerfd_settime");
    }
    return real(fd, flags, new, old);
}

// Only reads of eight bytes, like those of timers and events.
ssize_t read(int fd, void *buffer, size_t size) {
    static ssize_t (*real)(int, void *, size_t);
    if (size == 8 && fails("read")) {
        return -1;
    }
    if (real == NULL) {
        real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    }
    return real(fd, buffer, size);
}

// The resolution of every clock is FAULT_RESOLUTION, in nanoseconds, if there is this variable. It is not armed, because
// Foundation asks when it is loaded.
int clock_getres(clockid_t clock, struct timespec *resolution) {
    static int (*real)(clockid_t, struct timespec *);
    const char *told = getenv("FAULT_RESOLUTION");
    if (told != NULL && resolution != NULL) {
        *resolution = (struct timespec){0, atol(told)};
        return 0;
    }
    if (real == NULL) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_getres");
    }
    return real(clock, resolution);
}

// While `wall_clock` is armed, the wall clock shows a time a hundred years later. The kernel's timers do not know that.
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    int result = real(clock, time);
    if (clock == CLOCK_REALTIME && atomic_load(&is_armed) && is_named("wall_clock")) {
        time->tv_sec += 100LL * 365 * 86400;
    }
    return result;
}

// A thread that begins late.
struct late_thread {
    void *(*body)(void *);
    void *argument;
};

extern void *__libc_malloc(size_t);

static void *begin_late(void *argument) {
    struct late_thread late = *(struct late_thread *)argument;
    usleep(5000);
    return late.body(late.argument);
}

// How often a thread with a real-time policy has yielded.
static atomic_int yields;

int yield_count(void) { return atomic_load(&yields); }

int sched_yield(void) {
    static int (*real)(void);
    if (real == NULL) {
        real = (int (*)(void))dlsym(RTLD_NEXT, "sched_yield");
    }
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER) {
        atomic_fetch_add(&yields, 1);
    }
    return real();
}

// pthread_create returns its error and does not set errno.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails("pthread_create")) {
        return error_number;
    }
    if (real == NULL) {
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    }
    if (atomic_load(&is_armed) && is_named("late_threads")) {
        // It is not freed: another library to preload may replace free().
        struct late_thread *late = __libc_malloc(sizeof *late);
        *late = (struct late_thread){body, argument};
        return real(thread, attributes, begin_late, late);
    }
    return real(thread, attributes, body, argument);
}

// Memory is refused only to libevent, because Swift ends the process if an allocation fails.
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int is_libevent(void *caller) {
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "libevent") != NULL;
}

// The number of allocations by the calling thread.
static __thread long allocations __attribute__((tls_model("initial-exec")));

long allocation_count(void) { return allocations; }

static int refuses_memory(void *caller) {
    allocations++;
    return atomic_load(&is_armed) && is_named("malloc") && is_libevent(caller) && fails("malloc");
}

void *malloc(size_t size) {
    return refuses_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return refuses_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return refuses_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    allocations++;
    *memory = __libc_memalign(alignment, size);
    return *memory != NULL ? 0 : ENOMEM;
}
