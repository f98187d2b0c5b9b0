#include "CBenchmark.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

// A key and its time-out. The heap has an instant for it that is not later, and is corrected when that has come.
typedef struct {
    uint64_t key, deadline;
    bool is_used, is_pending;
} entry;

struct bench_timeouts {
    pthread_mutex_t lock;
    uint64_t timeout;
    uint32_t mask, pending;
    // A hash table; the heap's numbers are places in it.
    entry *entries;
    bench_heap *heap;
    int descriptor;
};

// The place of a key, or the free one that it can have. The table is never full.
static uint32_t place_of(const bench_timeouts *timeouts, uint64_t key) {
    uint32_t place = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & timeouts->mask;
    while (timeouts->entries[place].is_used && timeouts->entries[place].key != key) place = (place + 1) & timeouts->mask;
    return place;
}

void bench_timeouts_refresh(bench_timeouts *timeouts, uint64_t key) {
    pthread_mutex_lock(&timeouts->lock);
    uint32_t place = place_of(timeouts, key);
    entry *found = &timeouts->entries[place];
    found->deadline = bench_now() + timeouts->timeout;
    if (!found->is_pending) {
        found->key = key;
        found->is_used = found->is_pending = true;
        bench_heap_push(timeouts->heap, place, found->deadline);
        // All time-outs have one length, so only the first one can be the earliest.
        if (timeouts->pending++ == 0) bench_set(timeouts->descriptor, found->deadline);
    }
    pthread_mutex_unlock(&timeouts->lock);
}

// Lets the time-outs pass that have not been postponed, and sets the others right.
static void handle_due(bench_timeouts *timeouts) {
    uint64_t now = bench_now();
    for (uint32_t place; (place = bench_heap_due(timeouts->heap, now)) != UINT32_MAX;) {
        entry *due = &timeouts->entries[place];
        if (due->deadline > now) {
            bench_heap_move(timeouts->heap, place, due->deadline);
        } else {
            bench_heap_remove(timeouts->heap, place);
            due->is_pending = false;
            timeouts->pending--;
        }
    }
    if (timeouts->pending > 0)
        bench_set(timeouts->descriptor, bench_heap_deadline(timeouts->heap, bench_heap_due(timeouts->heap, UINT64_MAX)));
}

static void *run(void *argument) {
    bench_timeouts *timeouts = argument;
    for (uint64_t count; read(timeouts->descriptor, &count, sizeof count) == sizeof count;) {
        pthread_mutex_lock(&timeouts->lock);
        handle_due(timeouts);
        pthread_mutex_unlock(&timeouts->lock);
    }
    return NULL;
}

bench_timeouts *bench_timeouts_new(uint32_t keys, uint64_t timeout) {
    bench_timeouts *timeouts = calloc(1, sizeof *timeouts);
    uint32_t places = 1;
    while (places < 2 * keys) places *= 2;
    pthread_mutex_init(&timeouts->lock, NULL);
    timeouts->timeout = timeout;
    timeouts->mask = places - 1;
    timeouts->entries = calloc(places, sizeof *timeouts->entries);
    timeouts->heap = bench_heap_new(places);
    timeouts->descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    pthread_t thread;
    pthread_create(&thread, NULL, run, timeouts);
    return timeouts;
}

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
