// The system as TimerKernel sees it: what Swift cannot call itself. No Swift file of the library imports a C library by
// its name. With C++ interoperability, a whole build reads this as C++.
#if !defined(__linux__)
#error "PreciseTimer needs Linux. PreciseTimer.docc/Embedding.md says how a package that also builds elsewhere uses it."
#endif

// First, so that this module and the C library's own module agree on every feature macro.
#include <features.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

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

// Waits until an instant of the monotonic clock on a word that nobody changes (futex(2)). Returns 0 or the error.
static inline int futex_sleep(const struct timespec *instant) {
    int word = 0;
    // FUTEX_WAIT_BITSET takes an absolute instant; the last argument stands for all bits.
    long result = syscall(SYS_futex, &word, 9 | 128 /* FUTEX_PRIVATE_FLAG */, 0, instant, NULL, 0xffffffffU);
    return result == 0 ? 0 : errno;
}

// Sleeps until an instant of the suspending clock. Signals do not end the sleep. If a sandbox refuses
// clock_nanosleep(2), the thread waits on a futex.
static inline void sleep_until(const struct timespec *instant) {
    int error;
    do {
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, instant, NULL);
    } while (error == EINTR);
    if (error == 0) {
        return;
    }
    do {
        error = futex_sleep(instant);
    } while (error == EINTR || error == EAGAIN || error == 0);
}

// Starts a detached thread. Returns 0 or the error.
static inline int thread_create(void *(*body)(void *), void *argument) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, argument);
    return error != 0 ? error : pthread_detach(thread);
}

// prctl is variadic, which Swift cannot call.
static inline int thread_name_set(const char *name) {
    return prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
}

// syscall is variadic, which Swift cannot call, and glibc declares its own wrappers only for GNU sources.
static inline int thread_id(void) {
    return (int)syscall(SYS_gettid);
}

// Whether the calling thread is the one that the process began with.
static inline int thread_is_main(void) {
    return thread_id() == getpid();
}

// Gives the calling thread the affinity of the main thread. The mask is large enough for the largest machines.
static inline void thread_affinity_of_main(void) {
    unsigned long mask[1024] = {0};
    long size = syscall(SYS_sched_getaffinity, getpid(), sizeof(mask), mask);
    if (size > 0) {
        syscall(SYS_sched_setaffinity, 0, size, mask);
    }
}

// Gives the calling thread the policy, nice value and affinity of the main thread; a real-time policy is replaced by
// the ordinary one. glibc declares some of these names only for GNU sources.
static inline void thread_resemble_main(void) {
    int policy = sched_getscheduler(getpid()) & ~0x40000000;  // without SCHED_RESET_ON_FORK
    struct sched_param parameters = {0};
    int is_ordinary = policy == SCHED_NORMAL || policy == SCHED_BATCH || policy == SCHED_IDLE;
    sched_setscheduler(0, is_ordinary ? policy : SCHED_NORMAL, &parameters);
    // PRIO_PROCESS is 0, and the system call returns 20 minus the nice value (getpriority(2)).
    int priority = (int)syscall(SYS_getpriority, 0, getpid());
    if (priority > 0) {
        syscall(SYS_setpriority, 0, 0, 20 - priority);
    }
    thread_affinity_of_main();
}

static inline int timer_slack_set(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}

// Gives the calling thread the affinity of the main thread, and the timer slack that it began with, for which 0 stands
// (PR_SET_TIMERSLACK(2const)).
static inline void thread_unpin(void) {
    thread_affinity_of_main();
    timer_slack_set(0);
}

// Whether a thread has a real-time policy: SCHED_FIFO, SCHED_RR or SCHED_DEADLINE. glibc declares the last of them, and
// the flag in the policy's number, only for GNU sources.
static inline int is_real_time(int thread) {
    int policy = sched_getscheduler(thread) & ~0x40000000;  // without SCHED_RESET_ON_FORK
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == 6;
}

static inline int thread_is_real_time(void) {
    return is_real_time(0);
}

static inline int main_is_real_time(void) {
    return is_real_time(getpid());
}

// Whether the kernel was built with PREEMPT_RT (uname(2)); before Linux 5.4 its patch wrote a space. The file
// /sys/kernel/realtime does not exist on every such kernel (Documentation/findings/rt-realtime-file.sh).
static inline int kernel_is_preempt_rt(void) {
    struct utsname name;
    return uname(&name) == 0 && (strstr(name.version, "PREEMPT_RT") || strstr(name.version, "PREEMPT RT"));
}

// How many times the calling thread has given its processor away to wait (getrusage(2) with RUSAGE_THREAD, which glibc
// declares only for GNU sources); negative if the kernel does not tell.
static inline long thread_sleeps(void) {
    struct rusage usage;
    return getrusage(1, &usage) == 0 ? usage.ru_nvcsw : -1;
}

// Ends the calling thread and nothing else: no handler of exit(3) runs, no buffer is written, no destructor of the
// thread is called. If it is the last thread, the process ends with code 0.
__attribute__((noreturn)) static inline void thread_end(void) {
    for (;;) {
        syscall(SYS_exit, 0);
    }
}

// Where the page below is, and a fork handler that clears its number, too.
static inline unsigned long **cleared_page(void) {
    static unsigned long *page;
    return &page;
}

static inline void clear_page(void) {
    **cleared_page() = 0;
}

// A page that the kernel clears in a forked child, whatever call forked it (madvise(2), MADV_WIPEONFORK); NULL if
// the kernel cannot do this. A process that was restored from a checkpoint may have lost that request: then fork(3)
// clears the number at the beginning of the page, and _Fork(3) and clone(2) do not.
static inline void *page_cleared_by_fork(void) {
    long size = sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, (size_t)size, 18 /* MADV_WIPEONFORK */) == 0) {
        *cleared_page() = (unsigned long *)page;
        pthread_atfork(NULL, NULL, clear_page);
        return page;
    }
    munmap(page, (size_t)size);
    return NULL;
}

// The number of processors that the calling thread or the main thread may run on; negative if the kernel does not say.
static inline int processors_of_main_and_this(void) {
    unsigned long own[1024] = {0}, first[1024] = {0};
    if (syscall(SYS_sched_getaffinity, 0, sizeof(own), own) < 0) {
        return -1;
    }
    if (syscall(SYS_sched_getaffinity, getpid(), sizeof(first), first) < 0) {
        return -1;
    }
    int count = 0;
    for (int word = 0; word < 1024; word++) {
        count += __builtin_popcountl(own[word] | first[word]);
    }
    return count;
}

// The number of a thread, and the process (Process.generation) in which it has this number.
struct thread_number {
    unsigned long process;
    unsigned int number;
};

// Asks for the calling thread's number, and keeps it unless the process is unknown: 0.
__attribute__((noinline, unused)) static unsigned int thread_number_ask(
    struct thread_number *known, unsigned long process
) {
    unsigned int number = (unsigned int)thread_id();
    if (process != 0) {
        known->number = number;
        known->process = process;
    }
    return number;
}

// The number of the calling thread, without a system call if the thread has asked for it in this process. A forked
// child has a copy of what the parent's thread kept, and another number.
static inline unsigned int thread_number(unsigned long process) {
    static __thread struct thread_number known = {-1UL, 0};
    return known.process == process ? known.number : thread_number_ask(&known, process);
}

// The two calls of a lock that lends priorities, on a word of this process (futex(2)). They return 0 or the error.
static inline int futex_lock(void *word) {
    return syscall(SYS_futex, word, 6 | 128 /* FUTEX_LOCK_PI, FUTEX_PRIVATE_FLAG */, 0, NULL, NULL, 0) == 0 ? 0 : errno;
}

static inline int futex_unlock(void *word) {
    return syscall(SYS_futex, word, 7 | 128 /* FUTEX_UNLOCK_PI */, 0, NULL, NULL, 0) == 0 ? 0 : errno;
}

// open, openat and fcntl are variadic, which Swift cannot call. The file is closed in programs that this process executes.
static inline int file_open(const char *path, int flags) {
    return open(path, flags | O_CLOEXEC);
}

static inline int file_open_at(int folder, const char *path, int flags) {
    return openat(folder, path, flags | O_CLOEXEC);
}

static inline int descriptor_close_on_exec(int descriptor) {
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

// How many microseconds of processor time a real-time thread may use without a sleep (RLIMIT_RTTIME of getrlimit(2)).
// Returns whether there is such a limit.
static inline int real_time_limit(unsigned long long *microseconds) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return 0;
    }
    *microseconds = limit.rlim_cur;
    return 1;
}

static inline long timer_slack(void) {
    return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

// What sched_setattr(2) and sched_getattr(2) exchange. glibc before 2.41 has neither the calls nor the structure.
struct thread_attributes {
    unsigned int size, policy;
    unsigned long long flags;
    int nice;
    unsigned int priority;
    unsigned long long runtime, deadline, period;
};

static inline int thread_attributes_get(struct thread_attributes *attributes) {
    return (int)syscall(SYS_sched_getattr, 0, attributes, sizeof *attributes, 0);
}

// Threads that the thread creates get the ordinary policy, and the kernel's slice.
static inline int thread_attributes_set(struct thread_attributes attributes) {
    attributes.size = sizeof attributes;
    attributes.flags |= 1 /* SCHED_FLAG_RESET_ON_FORK */;
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static inline int thread_policy_set(
    int policy, unsigned int priority, unsigned long long runtime, unsigned long long deadline,
    unsigned long long period
) {
    struct thread_attributes attributes = {0, (unsigned int)policy, 0, 0, priority, runtime, deadline, period};
    return thread_attributes_set(attributes);
}

// Whether the calling thread has CAP_SYS_NICE (capget(2), which has no wrapper in glibc).
static inline int may_set_policies(void) {
    struct {
        unsigned int version;
        int thread;
    } header = {0x20080522, 0};
    struct {
        unsigned int effective, permitted, inheritable;
    } sets[2];
    return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective >> 23 & 1);
}

// glibc declares the type of the mask only for GNU sources. The size is in bytes.
static inline int thread_affinity_set(const unsigned long *mask, unsigned long size) {
    return (int)syscall(SYS_sched_setaffinity, 0, size, mask);
}

// Of a thread by its number, or of the calling thread by 0.
static inline int thread_affinity(int thread, unsigned long *mask, unsigned long size) {
    return (int)syscall(SYS_sched_getaffinity, thread, size, mask);
}

// Locks the pages of the process, also later ones, as they are touched. Without MCL_ONFAULT, which glibc declares only
// for GNU sources, the kernel would fill every reserved range of addresses.
static inline int memory_lock(void) {
    return mlockall(MCL_CURRENT | MCL_FUTURE | 4 /* MCL_ONFAULT */);
}

// The columns of a terminal (ioctl_tty(2)); 0 if the descriptor is no terminal. Swift 6.2 takes the structure for one
// of another module that includes the same header.
static inline int terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// The frequency in Hz of the counter behind the clocks of an ARM processor; 0 on others.
static inline unsigned long counter_frequency(void) {
    unsigned long frequency = 0;
#if defined(__aarch64__)
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
#endif
    return frequency;
}

// Swift imports the flags of these functions as values of separate enumerations.
static inline int epoll_create_closing(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

static inline int event_create_closing(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

// Sets a timerfd to an absolute instant, or disarms it with 0. With C++ interoperability, Swift takes the members of
// itimerspec for those of another module.
static inline int timer_set(int descriptor, int flags, struct timespec instant) {
    struct itimerspec setting = {{0, 0}, instant};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME | flags, &setting, NULL);
}

// Waits until one of two descriptors is readable, or until some time has passed (ppoll(2), which glibc declares only for
// GNU sources). A negative number is no descriptor. Returns 1 for the first, 2 for the second, 3 for both, 0 for
// neither, or -1: with EBADF if one of them is closed.
static inline int poll_either(int first, int second, struct timespec *length) {
    struct pollfd requests[2] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
    if (syscall(SYS_ppoll, requests, 2, length, NULL, 0) < 0) {
        return -1;
    }
    if ((requests[0].revents | requests[1].revents) & (POLLNVAL | POLLERR)) {
        errno = EBADF;
        return -1;
    }
    return (requests[0].revents != 0) | (requests[1].revents != 0) << 1;
}

static inline int epoll_watch(int epoll, int descriptor) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

