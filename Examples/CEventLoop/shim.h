// libevent's core, as a program would have it that runs an event loop of its own.

#include <features.h>

#include <event2/event.h>
