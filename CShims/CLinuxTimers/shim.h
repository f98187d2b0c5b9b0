// Linux functions for timers that Swift's Glibc module lacks.

// First, so that this module and the Glibc module agree on every feature macro.
#include <features.h>

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
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

// syscall is variadic, which Swift cannot call, and glibc declares its own wrappers only for GNU sources.
static inline int thread_id(void) {
    return (int)syscall(SYS_gettid);
}

// glibc declares that the result of pthread_self() never changes. So the compiler may keep an earlier result across
// a suspension of an async function, which may resume on another thread. This function is called each time.
__attribute__((noinline, unused)) static unsigned long thread_identity(void) {
    unsigned long identity = (unsigned long)pthread_self();
    __asm__ volatile("" : "+r"(identity) : : "memory");
    return identity;
}

// Tells the processor that this thread waits in a loop: it leaves memory alone for some tens of nanoseconds.
static inline void processor_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

// Gives the calling thread the policy, nice value and affinity of another thread; a real-time policy is replaced by
// the ordinary one. glibc declares some of these names only for GNU sources. The mask is large enough for the
// largest machines.
static inline void thread_scheduling_copy(int other) {
    int policy = sched_getscheduler(other) & ~0x40000000;  // without SCHED_RESET_ON_FORK
    struct sched_param parameters = {0};
    int is_ordinary = policy == SCHED_NORMAL || policy == SCHED_BATCH || policy == SCHED_IDLE;
    sched_setscheduler(0, is_ordinary ? policy : SCHED_NORMAL, &parameters);
    // PRIO_PROCESS is 0, and the system call returns 20 minus the nice value (getpriority(2)).
    int priority = (int)syscall(SYS_getpriority, 0, other);
    if (priority > 0) {
        syscall(SYS_setpriority, 0, 0, 20 - priority);
    }
    unsigned long mask[1024] = {0};
    long size = syscall(SYS_sched_getaffinity, other, sizeof(mask), mask);
    if (size > 0) {
        syscall(SYS_sched_setaffinity, 0, size, mask);
    }
}

// A page that the kernel clears in a forked child, whatever call forked it (madvise(2), MADV_WIPEONFORK); NULL if
// the kernel cannot do this.
static inline void *page_cleared_by_fork(void) {
    long size = sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, (size_t)size, 18 /* MADV_WIPEONFORK */) == 0) {
        return page;
    }
    munmap(page, (size_t)size);
    return NULL;
}

// Swift imports the flags of these functions as values of separate enumerations.
static inline int epoll_create_closing(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

static inline int event_create_closing(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static inline int epoll_watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// A file without a name, which is closed in programs that this process executes (memfd_create(2)).
static inline int memory_file_create(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1U);
}

// The number of processors that the calling thread may run on; negative if the kernel does not say. The mask
// consists of 64-bit words and is large enough for the largest machines.
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
