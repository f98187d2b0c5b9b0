// libevent's core with its pthreads support.

// First: event-config.h of some distributions defines _GNU_SOURCE late, and fd_set would then differ from the one
// that the Glibc module has seen, which fails a clean build.
#include <features.h>

#include <event2/event.h>
#include <event2/thread.h>
