#!/usr/bin/env bash
# Linux: a group of processes that its CPU quota stops counts as CPU pressure of the whole machine.
#
# Expected: "some" in /proc/pressure/cpu is the share of time in which programs compete for processors. It is about 0 if
# only one program runs.
#
# Seen: if a quota (cpu.max) stops that program, it counts as waiting for a processor all the while. A quota of 10 % of
# a processor makes "some" of the machine 90 %, although the machine is idle for these 90 %. Two programs that do
# compete for the processor make 100 %.
# The group's own cpu.pressure has the same "some", and as much "full". "full" of the machine stays 0, by definition.
# throttled_usec in the group's cpu.stat tells the two cases apart: it grows only if the quota stops the group.
#
# Seen too, but not checked here: the kernels 7.2.13+deb14-amd64 and 6.12.117+deb13-rt-amd64 give the same numbers,
# although kernels from 6.18 on stop each thread on its own. A second processor, which is idle, changes nothing: with a
# quota of 20 %, "some" of the machine is 80 %, and the machine is 90 % idle. The second number of
# /proc/PID/schedstat, the time in which a thread waits for a processor, contains the stopped time, too.
#
# Versions: linux-image-6.12.117+deb13-amd64 6.12.117-1 of Debian trixie; qemu 7.2.22 with 1 processor, whose clock
# counts instructions: a busy host changes nothing.
# Date: 2026-11-27. Duration: a minute under software emulation, with a download of 110 MB.
# Output, in percent of 3 seconds, rounded to tens:
#   1 program, no quota         machine: some   0, full 0, idle  0;  group: some   0, full  0, stopped  0
#   1 program, a quota of 10 %  machine: some  90, full 0, idle 90;  group: some  90, full 90, stopped 90
#   1 program, a quota of 50 %  machine: some  50, full 0, idle 50;  group: some  50, full 50, stopped 50
#   2 programs, no quota        machine: some 100, full 0, idle  0;  group: some 100, full  0, stopped  0
set -euo pipefail
suite=trixie package=linux-image-6.12.117+deb13-amd64 version=6.12.117-1
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
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define GROUP ROOT "/group"
enum { SOME, FULL, IDLE, GROUP_SOME, GROUP_FULL, STOPPED, FIGURES, ROWS = 4, PROGRAMS = 2, TOLERANCE = 10 };
// Each figure is a time that grows, in this unit of a second.
static const struct { const char *path, *format; double unit; } figures[] = {
    {"/proc/pressure/cpu", "some %*s %*s %*s total=%lf", 1e-6},
    {"/proc/pressure/cpu", "full %*s %*s %*s total=%lf", 1e-6},
    {"/proc/stat", "cpu %*s %*s %*s %lf", 1e-2},
    {GROUP "/cpu.pressure", "some %*s %*s %*s total=%lf", 1e-6},
    {GROUP "/cpu.pressure", "full %*s %*s %*s total=%lf", 1e-6},
    {GROUP "/cpu.stat", "throttled_usec %lf", 1e-6}};
static const struct { const char *name, *quota; int programs; double expected[FIGURES]; } rows[] = {
    {"1 program, no quota", "max 100000", 1, {0, 0, 0, 0, 0, 0}},
    {"1 program, a quota of 10 %", "10000 100000", 1, {90, 0, 90, 90, 90, 90}},
    {"1 program, a quota of 50 %", "50000 100000", 1, {50, 0, 50, 50, 50, 50}},
    {"2 programs, no quota", "max 100000", 2, {100, 0, 0, 100, 0, 0}}};

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) printf("FAIL: write %s\n", path);
}
static double seconds(int figure) {
    char line[256];
    double value = -1;
    FILE *file = fopen(figures[figure].path, "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, figures[figure].format, &value) != 1) {}
    if (file) fclose(file);
    if (value < 0) printf("FAIL: no '%s' in %s\n", figures[figure].format, figures[figure].path);
    return value * figures[figure].unit;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static pid_t spin(void) {
    pid_t pid = fork();
    if (pid) return pid;
    put(GROUP "/cgroup.procs", "0");
    fflush(stdout);
    for (;;) {}
}
static void run(int row) {
    pid_t pids[PROGRAMS];
    double before[FIGURES], share[FIGURES];
    int tens[FIGURES];
    mkdir(GROUP, 0755);
    put(GROUP "/cpu.max", rows[row].quota);
    fflush(stdout);
    for (int i = 0; i < rows[row].programs; i++) pids[i] = spin();
    sleep(1);
    double start = now();
    for (int i = 0; i < FIGURES; i++) before[i] = seconds(i);
    sleep(3);
    double took = now() - start;
    for (int i = 0; i < FIGURES; i++) {
        share[i] = (seconds(i) - before[i]) / took * 100;
        tens[i] = (int)(share[i] / 10 + 0.5) * 10;
    }
    for (int i = 0; i < rows[row].programs; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], 0, 0);
    }
    while (rmdir(GROUP)) usleep(10000);
    printf("%-27s machine: some %3d, full %d, idle %2d;  group: some %3d, full %2d, stopped %2d\n", rows[row].name,
           tens[SOME], tens[FULL], tens[IDLE], tens[GROUP_SOME], tens[GROUP_FULL], tens[STOPPED]);
    for (int i = 0; i < FIGURES; i++) {
        double off = share[i] - rows[row].expected[i];
        if (off < -TOLERANCE || off > TOLERANCE)
            printf("FAIL: %s: %s, %.4s: %.1f\n", rows[row].name, figures[i].path, figures[i].format, share[i]);
    }
}
int main(void) {
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    mount("proc", "/proc", "proc", 0, 0);
    mount("sysfs", "/sys", "sysfs", 0, 0);
    if (mount("cgroup2", ROOT, "cgroup2", 0, 0)) puts("FAIL: no cgroup2");
    put(ROOT "/cgroup.subtree_control", "+cpu");
    // The kernel still has work of its start. The guest's clock skips the idle time.
    sleep(20);
    for (int row = 0; row < ROWS; row++) run(row);
    puts("end");
    fflush(stdout);
    reboot(RB_AUTOBOOT);
}
C
cc -O1 -Wall -static -o init init.c
echo init | cpio --quiet -o -H newc >initrd
timeout --kill-after=10 300 qemu-system-x86_64 -accel tcg,thread=single -icount shift=3,sleep=off -machine q35 \
    -cpu max -m 512 -nic none -no-reboot -display none -monitor none -serial file:console -kernel vmlinuz \
    -initrd initrd -append 'console=ttyS0 quiet panic=1' </dev/null &
guest=$!
wait "$guest" || echo "FAIL: qemu ended with status $?" >>console
guest=
tr -d '\r' <console | grep -aE '^(FAIL|end)|machine: ' | tee output
[ "$(grep -c 'machine: ' output)" = 4 ] && grep -q '^end$' output && ! grep -q FAIL output ||
    { echo 'FAIL: not as described'; exit 1; }
