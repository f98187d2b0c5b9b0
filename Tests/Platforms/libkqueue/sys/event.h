// libkqueue 2.3 as a stand-in for the kqueue(2) of a Mac. It has faults that the trial goes round here: all its calls
// come one after the other, a thread that waits asks again and again, and no queue is closed.
#include_next <sys/event.h>

#include <pthread.h>
#include <unistd.h>

// Weak: one for the program, although every object file has the functions below.
__attribute__((weak)) pthread_mutex_t trial = PTHREAD_MUTEX_INITIALIZER;
__attribute__((weak)) int trial_free[4096] = {0};
__attribute__((weak)) int trial_free_count = 0;

static inline int trial_kqueue(void) {
    pthread_mutex_lock(&trial);
    int queue = trial_free_count > 0 ? trial_free[--trial_free_count] : kqueue();
    pthread_mutex_unlock(&trial);
    return queue;
}

// A thread of libkqueue waits for queues to be closed. It blocks forever if the number of a closed queue is used again
// before it has looked. So the next one who makes a queue gets this one.
static inline int trial_close(int queue) {
    struct kevent removal;
    EV_SET(&removal, 1, EVFILT_TIMER, EV_DELETE, 0, 0, NULL);
    pthread_mutex_lock(&trial);
    kevent(queue, &removal, 1, NULL, 0, NULL);
    if (trial_free_count < 4096) {
        trial_free[trial_free_count++] = queue;
    }
    pthread_mutex_unlock(&trial);
    return 0;
}

static inline int trial_kevent_once(
    int queue, const struct kevent *changes, int changed, struct kevent *events, int room
) {
    const struct timespec none = {0, 0};
    pthread_mutex_lock(&trial);
    // A second EV_ADD is taken and ignored. So the timer is removed and made anew.
    if (changed > 0 && changes->flags == EV_ADD) {
        struct kevent removal = *changes;
        removal.flags = EV_DELETE;
        kevent(queue, &removal, 1, NULL, 0, NULL);
    }
    int result = kevent(queue, changes, changed, events, room, &none);
    pthread_mutex_unlock(&trial);
    return result;
}

// If a timer is removed while another thread waits, that thread may use its memory when it is free. So nobody waits
// inside the library.
static inline int trial_kevent(
    int queue, const struct kevent *changes, int changed, struct kevent *events, int room,
    const struct timespec *timeout
) {
    int result = trial_kevent_once(queue, changes, changed, events, room);
    while (result == 0 && room > 0 && timeout == NULL) {
        usleep(500);
        result = trial_kevent_once(queue, changes, changed, events, room);
    }
    return result;
}

#define kqueue() trial_kqueue()
#define kevent(...) trial_kevent(__VA_ARGS__)
#define close(queue) trial_close(queue)
