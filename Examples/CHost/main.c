/* A C program that owns its loop, with ticks of PreciseTimer in it: first a loop of libevent, and then one of epoll.
 * Every other file of such a program is like this one: it includes ticks.h, and knows nothing of Swift. */
#include "ticks.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { DEADLINES = 30, PERIOD = 2 * 1000 * 1000 };

/* What the callbacks of one loop need. */
struct meter {
    ticks_service *service;
    ticks_timer *timer;
    struct event *heartbeat; /* the program's own event */
    uint64_t ticks, deadlines;
    int beats;
};

static void check(int is_true, const char *complaint) {
    if (is_true) return;
    printf("failed: %s\n", complaint);
    exit(1);
}

static void count(struct meter *meter, uint64_t index, uint64_t missed) {
    check(index == meter->deadlines, "a deadline was lost");
    meter->ticks += 1;
    meter->deadlines += 1 + missed;
}

/* On the loop's thread, so nothing here needs a lock. */
static void on_tick(void *context, uint64_t index, uint64_t missed, uint64_t lateness) {
    struct meter *meter = (struct meter *)context;
    (void)lateness;
    count(meter, index, missed);
    if (meter->deadlines < DEADLINES || meter->beats == 0) return;
    /* Nothing is left to wait for, and event_base_dispatch returns. */
    event_del(meter->heartbeat);
    ticks_stop(meter->timer);
    ticks_close(meter->service);
}

static void on_beat(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    ((struct meter *)context)->beats += 1;
}

static void on_libevent(void) {
    char message[TICKS_MESSAGE] = "";
    struct meter meter;
    struct timeval beat = {0, 10 * 1000};
    memset(&meter, 0, sizeof meter);

    struct event_base *base = event_base_new();
    check(base != NULL, "libevent refuses an event base");
    meter.heartbeat = event_new(base, -1, EV_PERSIST, on_beat, &meter);
    event_add(meter.heartbeat, &beat);

    check(ticks_attach(base, &meter.service, message) == 0, message);
    check(ticks_start(meter.service, PERIOD, on_tick, &meter, &meter.timer, message) == 0, message);
    event_base_dispatch(base);

    event_free(meter.heartbeat);
    event_base_free(base);
    printf("libevent: %" PRIu64 " ticks for %" PRIu64 " deadlines, %d events of the program's own\n", meter.ticks,
           meter.deadlines, meter.beats);
    check(meter.deadlines >= DEADLINES && meter.beats > 0, "the loop ended early");
}

static void on_tick_of_epoll(void *context, uint64_t index, uint64_t missed, uint64_t lateness) {
    (void)lateness;
    count((struct meter *)context, index, missed);
}

static void on_epoll(void) {
    char message[TICKS_MESSAGE] = "";
    struct meter meter;
    struct epoll_event event, ready[4];
    memset(&meter, 0, sizeof meter);
    memset(&event, 0, sizeof event);

    int epoll = epoll_create1(EPOLL_CLOEXEC);
    check(epoll >= 0, "the system refuses an epoll");
    check(ticks_open(&meter.service, message) == 0, message);
    event.events = EPOLLIN;
    event.data.fd = ticks_descriptor(meter.service);
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event) == 0, "epoll refuses the descriptor");

    check(ticks_start(meter.service, PERIOD, on_tick_of_epoll, &meter, &meter.timer, message) == 0, message);
    while (meter.deadlines < DEADLINES) {
        int count = epoll_wait(epoll, ready, 4, 30 * 1000);
        check(count > 0, "nothing happened for half a minute");
        for (int i = 0; i < count; i++) {
            if (ready[i].data.fd == ticks_descriptor(meter.service)) ticks_process(meter.service);
        }
    }

    /* An error of the library is a number and a message. */
    ticks_timer *none = NULL;
    int refused = ticks_start(meter.service, 0, on_tick_of_epoll, &meter, &none, message);
    check(refused != 0 && none == NULL && message[0] != 0, "a period of zero was accepted");

    ticks_stop(meter.timer);
    epoll_ctl(epoll, EPOLL_CTL_DEL, ticks_descriptor(meter.service), NULL);
    ticks_close(meter.service);
    close(epoll);
    printf("epoll: %" PRIu64 " ticks for %" PRIu64 " deadlines\n", meter.ticks, meter.deadlines);
    printf("a period of zero: %s (%s)\n", message, strerror(refused));
}

int main(void) {
    on_libevent();
    on_epoll();
    return 0;
}
