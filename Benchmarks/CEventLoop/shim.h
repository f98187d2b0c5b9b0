// libevent's core, to measure beside.

#include <features.h>

#include <event2/event.h>
