/* Timers of PreciseTimer for a C or C++ program that has a loop already. Sources/Ticks/Ticks.swift implements them.
 *
 * A function that returns int returns 0, or a number of errno.h; then `message` has a line that says why. Call these
 * functions on the thread of the loop, or before the loop runs: the callbacks come there, one after the other.
 */
#ifndef TICKS_H
#define TICKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of a message, with its terminating zero. */
#define TICKS_MESSAGE 256

struct event_base;
/* The timers of one loop. */
typedef struct ticks_service ticks_service;
typedef struct ticks_timer ticks_timer;

/* The number of the deadline, from 0; how many later deadlines have passed without a call; and how late this call is,
 * in nanoseconds. */
typedef void ticks_callback(void *context, uint64_t index, uint64_t missed, uint64_t lateness);

/* Timers on a libevent loop. They count as an event, so event_base_dispatch returns only after ticks_close. */
int ticks_attach(struct event_base *base, ticks_service **service, char message[TICKS_MESSAGE]);

/* Timers for a loop over epoll, poll or select. When the descriptor is readable, call ticks_process: it calls the
 * callbacks of the due timers. Do not read the descriptor, and stop waiting for it before ticks_close. */
int ticks_open(ticks_service **service, char message[TICKS_MESSAGE]);
int ticks_descriptor(const ticks_service *service);
void ticks_process(ticks_service *service);

/* Calls back every `period` nanoseconds, for the first time one period from now. `context` must live until
 * ticks_stop. */
int ticks_start(ticks_service *service, uint64_t period, ticks_callback *callback, void *context, ticks_timer **timer,
                char message[TICKS_MESSAGE]);

/* Ends a timer and frees it, in its own callback too. No call of its callback begins afterwards. */
void ticks_stop(ticks_timer *timer);

/* Swift's async code on the loop: a task, and an actor that calls back every `period` nanoseconds, with 0, 1, 2, …. A
 * period must be longer than a call takes. After ticks_cancel, the task ends as soon as the loop runs it, and calls
 * `on_end`. Until then `context` and the service must live. */
typedef struct ticks_polling ticks_polling;
typedef void ticks_result(void *context, uint64_t number);
typedef void ticks_end(void *context);
ticks_polling *ticks_poll(ticks_service *service, uint64_t period, ticks_result *on_result, ticks_end *on_end,
                          void *context);

/* Cancels the task, in a callback too, and frees the handle. */
void ticks_cancel(ticks_polling *polling);

/* Ends the service and frees it; stop its timers first. In a callback too, except below ticks_process. */
void ticks_close(ticks_service *service);

#ifdef __cplusplus
}
#endif
#endif
