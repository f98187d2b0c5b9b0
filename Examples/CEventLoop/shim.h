// libevent's core, as a program with its own event loop would include it.

#include <features.h>

#include <event2/event.h>
