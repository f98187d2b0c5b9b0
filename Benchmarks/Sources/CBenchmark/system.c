#include "CBenchmark.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

size_t bench_allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

size_t bench_resident(void) {
    size_t total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
    if (file != NULL) fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

void bench_trim(void) { malloc_trim(0); }

void bench_timerfd_loop(uint64_t period, uint64_t ticks) {
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct timespec step = {(time_t)(period / 1000000000), (long)(period % 1000000000)};
    struct itimerspec setting = {step, step};
    timerfd_settime(descriptor, 0, &setting, NULL);
    for (uint64_t seen = 0, count; seen < ticks; seen += count)
        if (read(descriptor, &count, sizeof count) != sizeof count) break;
    close(descriptor);
}

uint64_t bench_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void bench_set(int descriptor, uint64_t instant) {
    struct itimerspec setting = {{0, 0}, {(time_t)(instant / 1000000000), (long)(instant % 1000000000)}};
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &setting, NULL);
}

void bench_spin_until_parent_ends(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // The parent may have ended before that call.
    if (getppid() == 1) return;
    for (;;) __asm__ volatile("" : : : "memory");
}

void bench_spin_in_own_session(int processes) {
    // The leader of a process group cannot make a session.
    setpgid(0, getpgid(getppid()));
    setsid();
    for (int other = 1; other < processes; other++)
        if (fork() == 0) break;
    bench_spin_until_parent_ends();
}

static void wait_once(enum bench_wait wait, int epoll, int timer, uint64_t delay, uint64_t due) {
    struct timespec instant = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
    struct itimerspec setting = {{0, 0}, instant};
    struct epoll_event event;
    uint64_t count;
    switch (wait) {
    case BENCH_NANOSLEEP:
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL) != 0) {}
        return;
    case BENCH_EPOLL_MILLISECONDS:
        epoll_wait(epoll, &event, 1, (int)((delay + 999999) / 1000000));
        return;
    case BENCH_EPOLL_TIMERFD:
    case BENCH_TIMERFD:
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
        if (wait == BENCH_EPOLL_TIMERFD) epoll_wait(epoll, &event, 1, -1);
        if (read(timer, &count, sizeof count) != sizeof count) return;
    }
}

void bench_late(enum bench_wait wait, uint64_t delay, uint64_t slack, uint32_t count, int64_t *lateness) {
    int former = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (wait == BENCH_EPOLL_TIMERFD) epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    uint32_t random = (uint32_t)bench_now();
    prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
    for (uint32_t number = 0; number < count; number++) {
        // Up to 4 ms, so that a wait does not follow the one before it.
        struct timespec pause = {0, (long)((random = random * 1103515245 + 12345) % 4000000)};
        nanosleep(&pause, NULL);
        uint64_t due = bench_now() + delay;
        wait_once(wait, epoll, timer, delay, due);
        lateness[number] = (int64_t)bench_now() - (int64_t)due;
    }
    prctl(PR_SET_TIMERSLACK, (unsigned long)former, 0, 0, 0);
    close(timer);
    close(epoll);
}
