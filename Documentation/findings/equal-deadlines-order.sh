#!/usr/bin/env bash
# Event loops: timers of one deadline run in an order that depends on their number, and is not that of scheduling.
#
# Expected: timers that are set one after the other for the same instant run in this order. JavaScript's setTimeout
# promises it, and libuv keeps it.
#
# Seen: libevent, libev and Dispatch run twelve such timers as 0 11 10 9 8 7 6 5 4 3 2 1, and asio and asyncio mix them.
# Each keeps its timers in a heap and compares only deadlines. libuv also compares a number that grows with each start.
# The order is the same in each run, if no other timer is set. In libevent, timers of event_base_init_common_timeout run
# in the order of their start.
#
# Seen too, but not checked here: three timers run as 0 2 1, but as 0 1 2 in libuv and asio. sd-event of systemd 252 runs
# twelve as 0 6 11 5 2 10 9 4 8 7 3 1.
#
# Versions: libevent-dev 2.1.12-stable-8, libev-dev 1:4.33-1, libuv1-dev 1.44.2-1+deb12u1 and libasio-dev
# 1:1.22.1-1 of Debian bookworm, x86-64; python 3.11.7. If swiftc is on the path, Dispatch, too: of Swift 6.3.1.
# Date: 2026-11-28. Duration: ten seconds, with a download of 2 MB. MIRROR names another mirror.
# Output: see `expected` below.
set -euo pipefail
expected="\
libevent: 0 11 10 9 8 7 6 5 4 3 2 1
libevent, common time-out: 0 1 2 3 4 5 6 7 8 9 10 11
libev: 0 11 10 9 8 7 6 5 4 3 2 1
libuv: 0 1 2 3 4 5 6 7 8 9 10 11
asio: 0 2 6 11 10 9 8 5 7 4 1 3
asyncio: 0 2 6 5 11 10 9 8 7 1 3 4"
if command -v swiftc >/dev/null; then expected+=$'\nDispatch: 0 11 10 9 8 7 6 5 4 3 2 1'; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export DEBIAN_FRONTEND=noninteractive

# need FILE-OR-COMMAND PACKAGE...: installs packages if the file or command is missing.
need() {
    [ -e "$1" ] || command -v "$1" >/dev/null ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${@:2}" >/dev/null; }
}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
need "$keyring" debian-archive-keyring
need c++ g++ libc6-dev
need python3 python3

# The suite's package lists stay apart from those of this machine, and so do the packages.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ && !seen++ { print $2 }')
mirror=${MIRROR:-${mirror:-http://deb.debian.org/debian}}
mkdir -p lists/partial archives/partial
touch status
echo "deb [arch=amd64 signed-by=$keyring] $mirror bookworm main" >sources.list
apt=(-qq -o APT::Architecture=amd64 -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$folder/sources.list"
    -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o Dir::Cache="$folder"
    -o Dir::State::lists="$folder/lists" -o Dir::State::status="$folder/status" -o APT::Update::Error-Mode=any)
timeout 300 apt-get "${apt[@]}" update
for package in libevent-dev=2.1.12-stable-8 libev-dev=1:4.33-1 libuv1-dev=1.44.2-1+deb12u1 \
    libasio-dev=1:1.22.1-1; do
    timeout 600 apt-get "${apt[@]}" download "$package" || { echo "FAIL: $mirror lacks $package"; exit 1; }
done
for package in *.deb; do dpkg-deb --extract "$package" root; done

cat >libevent.c <<'C'
#include <event2/event.h>
#include <stdio.h>
static struct event_base *base;
static const struct timeval *delay;
static void run(evutil_socket_t fd, short what, void *number) { printf(" %d", (int)(long)number); }
// In a callback the time is that of the loop's turn, so all deadlines are equal.
static void start(evutil_socket_t fd, short what, void *unused) {
    for (long i = 0; i < 12; i++) event_add(evtimer_new(base, run, (void *)i), delay);
}
int main(void) {
    struct timeval now = {0, 0}, later = {0, 50000};
    base = event_base_new();
    for (int common = 0; common < 2; common++) {
        delay = common ? event_base_init_common_timeout(base, &later) : &later;
        printf(common ? "\nlibevent, common time-out:" : "libevent:");
        event_base_once(base, -1, EV_TIMEOUT, start, 0, &now);
        event_base_dispatch(base);
    }
    puts("");
}
C
cat >libev.c <<'C'
#include <ev.h>
#include <stdio.h>
static ev_timer first, timers[12];
static void run(struct ev_loop *loop, ev_timer *timer, int what) { printf(" %d", (int)(timer - timers)); }
static void start(struct ev_loop *loop, ev_timer *timer, int what) {
    for (int i = 0; i < 12; i++) {
        ev_timer_init(&timers[i], run, .05, 0);
        ev_timer_start(loop, &timers[i]);
    }
}
int main(void) {
    struct ev_loop *loop = ev_default_loop(0);
    ev_timer_init(&first, start, 0, 0);
    ev_timer_start(loop, &first);
    printf("libev:");
    ev_run(loop, 0);
    puts("");
}
C
cat >libuv.c <<'C'
#include <stdio.h>
#include <uv.h>
static uv_timer_t timers[12];
static void run(uv_timer_t *timer) { printf(" %d", (int)(timer - timers)); }
int main(void) {
    printf("libuv:");
    for (int i = 0; i < 12; i++) {
        uv_timer_init(uv_default_loop(), &timers[i]);
        uv_timer_start(&timers[i], run, 50, 0);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    puts("");
}
C
cat >asio.cpp <<'C'
#include <asio.hpp>
#include <cstdio>
#include <list>
int main() {
    asio::io_context context;
    std::list<asio::steady_timer> timers;
    auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    for (int i = 0; i < 12; i++) {
        timers.emplace_back(context, deadline);
        timers.back().async_wait([i](std::error_code) { std::printf(" %d", i); });
    }
    std::printf("asio:");
    context.run();
    std::puts("");
}
C
cat >asyncio_order.py <<'PYTHON'
import asyncio


async def main():
    loop, order = asyncio.get_running_loop(), []
    deadline = loop.time() + 0.05
    for number in range(12):
        loop.call_at(deadline, order.append, number)
    while len(order) < 12:
        await asyncio.sleep(0.1)
    print("asyncio:", *order)

asyncio.run(main())
PYTHON
cat >dispatch.swift <<'SWIFT'
import Dispatch

let queue = DispatchQueue(label: "timers")
let deadline = DispatchTime.now() + 1
let isOver = DispatchSemaphore(value: 0)
var left = 12
print("Dispatch:", terminator: "")
for number in 0..<12 {
    queue.asyncAfter(deadline: deadline) {
        print(" \(number)", terminator: "")
        left -= 1
        if left == 0 { isOver.signal() }
    }
}
isOver.wait()
print()
SWIFT
libraries=root/usr/lib/x86_64-linux-gnu
for pair in libevent:libevent_core libev:libev libuv:libuv_a; do
    cc -w -Iroot/usr/include -o "${pair%:*}" "${pair%:*}.c" "$libraries/${pair#*:}.a" -pthread -lm -ldl
done
c++ -w -Iroot/usr/include -o asio asio.cpp -pthread
{
    for name in libevent libev libuv asio; do "./$name"; done
    python3 asyncio_order.py
    if command -v swiftc >/dev/null; then swiftc -swift-version 5 -o dispatch dispatch.swift && ./dispatch; fi
} >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
