/* A program with GLib's main loop, as GTK and GStreamer have one. The timers are a source of the loop beside the
 * program's own. */
#include "ticks.h"

#include <glib-unix.h>
#include <inttypes.h>

enum { FRAMES = 150, PERIOD = 2 * 1000 * 1000 };

static GMainLoop *loop;
static uint64_t ticks, frames;
static int beats;

/* On the loop's thread, so nothing here needs a lock. */
static void on_frame(void *context, uint64_t index, uint64_t missed, uint64_t lateness) {
    (void)context;
    (void)lateness;
    if (index != frames) g_error("a deadline was lost");
    ticks += 1;
    frames += 1 + missed;
    if (frames >= FRAMES && beats > 0) g_main_loop_quit(loop);
}

static gboolean on_ticks(gint descriptor, GIOCondition condition, gpointer service) {
    (void)descriptor;
    (void)condition;
    ticks_process((ticks_service *)service);
    return G_SOURCE_CONTINUE;
}

static gboolean on_beat(gpointer context) {
    (void)context;
    beats += 1;
    return G_SOURCE_CONTINUE;
}

int main(void) {
    char message[TICKS_MESSAGE] = "";
    ticks_service *service;
    ticks_timer *timer;

    loop = g_main_loop_new(NULL, FALSE);
    g_timeout_add(10, on_beat, NULL);
    if (ticks_open(&service, message) != 0) g_error("%s", message);
    guint source = g_unix_fd_add(ticks_descriptor(service), G_IO_IN, on_ticks, service);
    if (ticks_start(service, PERIOD, on_frame, NULL, &timer, message) != 0) g_error("%s", message);
    g_main_loop_run(loop);

    ticks_stop(timer);
    g_source_remove(source); /* before the descriptor is closed */
    ticks_close(service);
    g_main_loop_unref(loop);
    g_print("GLib: %" PRIu64 " ticks for %" PRIu64 " deadlines, %d of the program's own time-outs\n", ticks, frames,
            beats);
    return 0;
}
