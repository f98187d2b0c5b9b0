/* A C program whose loop of libevent also runs Swift's async code. All of it, C's callbacks included, runs on the
 * thread of the loop, inside event_base_dispatch. */
#include "ticks.h"

#include <event2/event.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RESULTS = 30, PERIOD = 2 * 1000 * 1000 };

static ticks_service *service;
static ticks_polling *polling;
static pthread_t thread;
static uint64_t start, results, ends;

static void check(int is_true, const char *complaint) {
    if (is_true) return;
    printf("failed: %s\n", complaint);
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 * 1000 * 1000 + (uint64_t)time.tv_nsec;
}

static void on_result(void *context, uint64_t number) {
    (void)context;
    check(pthread_equal(pthread_self(), thread), "a result came on another thread");
    check(number == results, "a result was lost");
    check(now() >= start + (number + 1) * PERIOD, "a result came early");
    results += 1;
    if (results == RESULTS) ticks_cancel(polling);
}

static void on_end(void *context) {
    (void)context;
    check(pthread_equal(pthread_self(), thread), "the task ended on another thread");
    ends += 1;
    ticks_close(service); /* nothing is left to wait for, and event_base_dispatch returns */
}

int main(void) {
    char message[TICKS_MESSAGE] = "";
    struct event_base *base = event_base_new();
    check(base != NULL, "libevent refuses an event base");
    check(ticks_attach(base, &service, message) == 0, message);

    thread = pthread_self();
    start = now();
    polling = ticks_poll(service, PERIOD, on_result, on_end, NULL);
    event_base_dispatch(base);

    event_base_free(base);
    printf("async: %" PRIu64 " results of a Swift actor on the loop's thread\n", results);
    check(results == RESULTS && ends == 1, "the loop did not return at the end of the task");
    return 0;
}
