#include "CBenchmark.h"

#include <malloc.h>
#include <stdio.h>
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

uint64_t bench_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void bench_set(int descriptor, uint64_t instant) {
    struct itimerspec setting = {{0, 0}, {(time_t)(instant / 1000000000), (long)(instant % 1000000000)}};
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &setting, NULL);
}
