#include "CBenchmark.h"

#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

typedef struct {
    uint64_t deadline, period;
} timer;

void bench_tolerant_loop(const uint64_t *periods, uint32_t count, uint64_t tolerance, void (*handler)(void)) {
    timer *timers = calloc(count, sizeof *timers);
    bench_heap *heap = bench_heap_new(count);
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    uint64_t now = bench_now(), expirations;
    for (uint32_t entry = 0; entry < count; entry++) {
        timers[entry] = (timer){now + periods[entry], periods[entry]};
        bench_heap_push(heap, entry, timers[entry].deadline + tolerance);
    }
    do {
        now = bench_now();
        // As all have one tolerance, those that are due come first.
        for (uint32_t entry; (entry = bench_heap_due(heap, now + tolerance)) != UINT32_MAX;) {
            timer *due = &timers[entry];
            // The tick stands for all deadlines that have passed.
            due->deadline += ((now - due->deadline) / due->period + 1) * due->period;
            bench_heap_move(heap, entry, due->deadline + tolerance);
            handler();
        }
        bench_set(descriptor, bench_heap_deadline(heap, bench_heap_due(heap, UINT64_MAX)));
    } while (read(descriptor, &expirations, sizeof expirations) == sizeof expirations);
}
