// libkqueue 2.3 as a stand-in for the kqueue(2) of a Mac. What this version lacks for the trial is here.
#include_next <sys/event.h>

#include <pthread.h>
#include <unistd.h>

// Weak: one for the program, although every object file has the functions below.
__attribute__((weak)) pthread_mutex_t trial = PTHREAD_MUTEX_INITIALIZER;
__attribute__((weak)) int trial_free[4096] = {0};
__attribute__((weak)) int trial_free_count = 0;

// A thread of libkqueue waits for queues to be closed. It blocks forever if a closed queue's number is used again before
// it has looked. So queues are never closed: the next one who makes a queue gets it.
static inline int trial_kqueue(void) {
    pthread_mutex_lock(&trial);
    int queue = trial_free_count > 0 ? trial_free[--trial_free_count] : kqueue();
    pthread_mutex_unlock(&trial);
    return queue;
}

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

// A second EV_ADD is taken and ignored. So a timer is removed and made anew, and nobody may come in between.
static inline int trial_kevent(
    int queue, const struct kevent *changes, int changed, struct kevent *events, int room, const struct timespec *timeout
) {
    if (changed == 0 || changes->flags != EV_ADD) {
        return kevent(queue, changes, changed, events, room, timeout);
    }
    struct kevent removal = *changes;
    removal.flags = EV_DELETE;
    pthread_mutex_lock(&trial);
    kevent(queue, &removal, 1, NULL, 0, NULL);
    int result = kevent(queue, changes, changed, events, room, timeout);
    pthread_mutex_unlock(&trial);
    return result;
}

#define kqueue() trial_kqueue()
#define kevent(...) trial_kevent(__VA_ARGS__)
#define close(queue) trial_close(queue)
