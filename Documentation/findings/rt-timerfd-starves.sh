#!/usr/bin/env bash
# Linux with PREEMPT_RT: a timerfd starves beside a busy real-time thread of lower priority.
#
# Expected: a SCHED_FIFO thread of priority 79 gets its timers while a thread of priority 50 spins on its processor.
# Only threads of a higher priority can delay it.
#
# Seen: this is true only for the time-out of the wait itself. The time-out of a real-time thread expires in the
# interrupt. A timerfd or a timer of timer_create expires in the thread ktimers/N of its processor, which is
# SCHED_FIFO 1. The spin keeps that thread from running, so the thread of priority 79 is never woken. epoll_pwait2
# shows both: it gets every deadline with its own time-out, and none on a timerfd.
# A timerfd is queued on the processor of the thread that sets it. If a thread on another, idle processor sets it for
# each deadline, the reader gets every deadline.
#
# Seen too, but not checked here: the real-time kernel 7.2.13+deb14-rt-amd64 does the same. On the ordinary kernel
# 6.12.117+deb13-amd64, each way gets 80 beside the spin.
#
# Versions: linux-image-6.12.117+deb13-rt-amd64 6.12.117-1 of Debian trixie; qemu 7.2.22 with 2 processors.
# Date: 2026-11-27. Duration: half a minute under software emulation, with a download of 110 MB.
# Output, of 80 deadlines 10 ms apart:
#   ktimers/0: policy 1, priority 1
#   clock_nanosleep                      without the spin 80, beside it 80
#   ppoll with a time-out                without the spin 80, beside it 80
#   epoll_pwait2 with a time-out         without the spin 80, beside it 80
#   read of a timerfd                    without the spin 80, beside it 0
#   epoll_pwait2 on a timerfd            without the spin 80, beside it 0
#   timer_create and sigwaitinfo         without the spin 80, beside it 0
#   read of a timerfd set on processor 1 without the spin 80, beside it 80
set -euo pipefail
suite=trixie package=linux-image-6.12.117+deb13-rt-amd64 version=6.12.117-1
folder=$(mktemp -d) guest=
trap '[ -z "$guest" ] || kill "$guest" || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$folder"
export DEBIAN_FRONTEND=noninteractive

# need FILE-OR-COMMAND PACKAGE...: installs packages if the file or command is missing.
need() {
    [ -e "$1" ] || command -v "$1" >/dev/null ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${@:2}" >/dev/null; }
}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
need "$keyring" debian-archive-keyring
need qemu-system-x86_64 qemu-system-x86
need cpio cpio
need cc gcc libc6-dev

# The suite's package lists stay apart from those of this machine. MIRROR names another mirror.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ && !seen++ { print $2 }')
mirror=${MIRROR:-${mirror:-http://deb.debian.org/debian}}
mkdir -p lists/partial archives/partial
touch status
echo "deb [arch=amd64 signed-by=$keyring] $mirror $suite main" >sources.list
apt=(-qq -o APT::Architecture=amd64 -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$folder/sources.list"
    -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o Dir::Cache="$folder"
    -o Dir::State::lists="$folder/lists" -o Dir::State::status="$folder/status" -o APT::Update::Error-Mode=any)
timeout 300 apt-get "${apt[@]}" update
timeout 600 apt-get "${apt[@]}" download "$package=$version" ||
    { echo "FAIL: $mirror lacks $package $version"; exit 1; }
dpkg-deb --fsys-tarfile ./*.deb | tar -xO --wildcards './boot/vmlinuz-*' >vmlinuz

cat >init.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SLEEP, PPOLL, EPOLL, READ, EPOLL_TIMERFD, POSIX_TIMER, SET_ELSEWHERE, WAYS, DEADLINES = 80 };
static const struct { const char *name; int served; } ways[] = {
    {"clock_nanosleep", 1}, {"ppoll with a time-out", 1}, {"epoll_pwait2 with a time-out", 1},
    {"read of a timerfd", 0}, {"epoll_pwait2 on a timerfd", 0}, {"timer_create and sigwaitinfo", 0},
    {"read of a timerfd set on processor 1", 1}};
static const long long second = 1000000000, period = 10000000;
static long long start, end;
static int way, fd;
static volatile int seen;
static sigset_t signals;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * second + t.tv_nsec;
}
static struct timespec spec(long long ns) { return (struct timespec){ns / second, ns % second}; }
static void sleep_until(long long at) {
    struct timespec t = spec(at);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}
static void set(long long at) { timerfd_settime(fd, TFD_TIMER_ABSTIME, &(struct itimerspec){{0}, spec(at)}, 0); }
static void place(int processor, int priority) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) ||
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){priority})) puts("FAIL: no priority");
}
static void *spin(void *unused) {
    place(0, 50);
    sleep_until(start);
    while (now() < end) {}
    return unused;
}
// Counts the deadlines that the thread saw before the end of the spin. They may be late: a busy host delays the guest.
static void *count(void *result) {
    place(0, 79);
    int epoll = epoll_create1(0), *got = result;
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1}, &timer);
    for (int i = 1; i <= DEADLINES; i++) {
        long long at = start + i * period, left = at - now(), expirations;
        struct timespec rest = spec(left > 0 ? left : 0);
        if (way == READ || way == EPOLL_TIMERFD) set(at);
        if (way == POSIX_TIMER) timer_settime(timer, TIMER_ABSTIME, &(struct itimerspec){{0}, spec(at)}, 0);
        if (way == SLEEP) sleep_until(at);
        if (way == PPOLL) ppoll(0, 0, &rest, 0);
        if (way == EPOLL || way == EPOLL_TIMERFD) epoll_pwait2(epoll, &event, 1, way == EPOLL ? &rest : 0, 0);
        if (way == POSIX_TIMER) sigwaitinfo(&signals, 0);
        if (way >= READ && way != POSIX_TIMER && read(fd, &expirations, sizeof expirations) < 0) puts("FAIL: read");
        *got += now() < end && now() - at < DEADLINES / 2 * period;
        seen = i;
    }
    timer_delete(timer);
    close(epoll);
    return 0;
}
static int run(int spins) {
    pthread_t waiter, spinner;
    int got = seen = 0;
    start = now() + second / 5, end = start + DEADLINES * period + second / 5;
    fd = timerfd_create(CLOCK_MONOTONIC, 0);
    pthread_create(&waiter, 0, count, &got);
    if (spins) pthread_create(&spinner, 0, spin, 0);
    for (int i = 1; way == SET_ELSEWHERE && i <= DEADLINES; i++) {
        // A new setting would replace an expiration that is not read yet.
        sleep_until(start + i * period - period / 2);
        while (seen < i - 1) usleep(500);
        set(start + i * period);
    }
    pthread_join(waiter, 0);
    if (spins) pthread_join(spinner, 0);
    close(fd);
    return got;
}
int main(void) {
    mkdir("/proc", 0755);
    mount("proc", "/proc", "proc", 0, 0);
    char path[64], name[32];
    for (int pid = 1; pid < 1000; pid++) {
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *file = fopen(path, "r");
        struct sched_param param;
        if (file && fgets(name, sizeof name, file) && !strcmp(name, "ktimers/0\n") && !sched_getparam(pid, &param))
            printf("ktimers/0: policy %d, priority %d\n", sched_getscheduler(pid), param.sched_priority);
        if (file) fclose(file);
    }
    // -1: real-time threads may keep a processor without a break.
    FILE *limit = fopen("/proc/sys/kernel/sched_rt_runtime_us", "w");
    if (!limit || fputs("-1", limit) < 0 || fclose(limit)) puts("FAIL: real-time threads stay throttled");
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, 0);
    place(1, 60);
    for (way = 0; way < WAYS; way++) {
        int alone = run(0), beside = run(1), quarter = DEADLINES / 4;
        printf("%-36s without the spin %d, beside it %d\n", ways[way].name, alone, beside);
        if (alone <= 3 * quarter || (ways[way].served ? beside <= 3 * quarter : beside >= quarter))
            printf("FAIL: %s\n", ways[way].name);
    }
    puts("end");
    fflush(stdout);
    reboot(RB_AUTOBOOT);
}
C
cc -O1 -Wall -static -pthread -o init init.c
echo init | cpio --quiet -o -H newc >initrd
timeout --kill-after=10 300 qemu-system-x86_64 -accel tcg,thread=multi -machine q35 -cpu max -smp 2 -m 512 -nic none \
    -no-reboot -display none -monitor none -serial file:console -kernel vmlinuz -initrd initrd \
    -append 'console=ttyS0 quiet panic=1' </dev/null &
guest=$!
wait "$guest" || echo "FAIL: qemu ended with status $?" >>console
guest=
tr -d '\r' <console | grep -aE '^(ktimers|FAIL|end)|beside it' | tee output
grep -q '^ktimers/0: policy 1, priority 1$' output && [ "$(grep -c 'beside it' output)" = 7 ] &&
    grep -q '^end$' output && ! grep -q FAIL output || { echo 'FAIL: not as described'; exit 1; }
