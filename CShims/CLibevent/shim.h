// libevent's core with its pthreads support.

// First, because event-config.h of some distributions defines _GNU_SOURCE late. fd_set would then differ from the
// one that the Glibc module has seen, and a clean build fails.
#include <features.h>

#if __has_include(<event2/event.h>)
#include <event2/event.h>
#include <event2/thread.h>
#else
#error "The trait Libevent needs libevent's headers: install libevent-dev (Debian) or libevent-devel (Fedora)."
#endif
