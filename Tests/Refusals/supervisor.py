"""Runs programs and answers their system calls: counts them, and makes one of them fail.

The kernel asks for each call that a seccomp filter names (SECCOMP_RET_USER_NOTIF in seccomp(2)): the program goes on
when this process has answered. It needs no privilege, but Linux 5.19. Counting is global over all threads, from the
program's first mark on: a call of getsid with a negative argument (Tests/FaultProbe/FaultProbe.swift).

One thread serves all programs: a process with several threads could not fork safely.
"""
import ctypes
import fcntl
import functools
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# <linux/seccomp.h>, <linux/prctl.h>, <linux/filter.h>
SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 8, 32
NO_NEW_PRIVILEGES, DIE_WITH_PARENT = 38, 1
RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
NOTIFICATION, RESPONSE = struct.Struct("=QII iIQ6Q"), struct.Struct("=QqiI")
LOAD_NUMBER, IF_EQUAL, RETURN, ALLOW, ASK = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FC00000
FIRST_MARK, END_MARK = -1000, -999

# Until the supervisor has the listener it answers no call, so these are never asked about: they bring it the listener.
UNASKED = ("sendmsg", "execve", "rt_sigreturn")


@functools.cache
def numbers():
    """The number of each system call on this machine, by name. The compiler is the one of Swift."""
    command = ["clang", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    words = (line.removeprefix("#define __NR_").split() for line in lines if line.startswith("#define __NR_"))
    return {name: int(number) for name, number in words if number.isdigit()}


@functools.cache
def names():
    """The name of each system call, by number."""
    return {number: name for name, number in numbers().items()}


def compiled(calls):
    """A filter that asks about the given calls, or about all of them if there are none."""
    listed, verdict, otherwise = (calls, ASK, ALLOW) if calls else (UNASKED, ALLOW, ASK)
    program = [(LOAD_NUMBER, 0, 0, 0)]
    for name in numbers().keys() & listed:
        program += [(IF_EQUAL, 0, 1, numbers()[name]), (RETURN, 0, 0, verdict)]
    return b"".join(struct.pack("=HBBI", *line) for line in [*program, (RETURN, 0, 0, otherwise)])


class Supervised:
    """A running program whose calls are answered. A subclass has `judge(name, arguments, thread)`, which is asked about
    each call between the program's first mark and its last one. It returns an error number, or None if the call goes
    on."""

    def __init__(self, command, environment, calls, limit):
        self.began, self.limit, self.step, self.status, self.timed_out = time.monotonic(), limit, None, None, False
        self.files = os.memfd_create("output"), os.memfd_create("errors")
        ours, theirs = socket.socketpair()
        program = compiled(calls)
        self.pid = os.fork()
        if self.pid == 0:
            self._become(command, environment, program, theirs)
        theirs.close()
        with ours:
            _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
        if not listeners:
            raise SystemExit("the kernel refuses a seccomp filter with a listener (Linux 5.19 or newer is needed)")
        self.listener = listeners[0]

    def _become(self, command, environment, program, channel):
        """Executes the program in the forked child."""
        try:
            for number, file in enumerate((os.open("/dev/null", os.O_RDONLY), *self.files)):
                os.dup2(file, number)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
            libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            buffer = ctypes.create_string_buffer(program, len(program))
            header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
            flags = NEW_LISTENER | WAIT_KILLABLE
            listener = libc.syscall(numbers()["seccomp"], SET_MODE_FILTER, flags, header)
            if listener >= 0:
                socket.send_fds(channel, [b"."], [listener])
                os.execve(command[0], command, environment)
        finally:
            os._exit(127)

    def name_of_thread(self, thread):
        try:
            with open(f"/proc/{self.pid}/task/{thread}/comm", encoding="utf-8") as file:
                return file.read().strip()
        except OSError:
            return "another process"

    def answer(self):
        """Answers one call."""
        buffer = bytearray(NOTIFICATION.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, buffer)
            identity, thread, _, number, _, _, *arguments = NOTIFICATION.unpack(buffer)
            name, error = names().get(number, str(number)), None
            mark = ctypes.c_int(arguments[0] & 0xFFFFFFFF).value
            if name == "getsid" and mark < 0:
                self.step = FIRST_MARK - mark if mark != END_MARK else None
            elif self.step is not None:
                error = self.judge(name, arguments, thread)
            # brk reports a failure by a break that is not the one asked for.
            value = 0 if error is None or name == "brk" else -error
            fcntl.ioctl(self.listener, SEND, RESPONSE.pack(identity, 0, value, CONTINUE if error is None else 0))
        except OSError:
            pass  # The thread was killed.

    def check_time(self):
        """Kills the program if it has run for too long."""
        self.seconds = time.monotonic() - self.began
        if self.seconds > self.limit and not self.timed_out:
            self.timed_out = True
            os.kill(self.pid, signal.SIGKILL)

    def finish(self):
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.output, self.errors = (os.pread(file, 1 << 24, 0).decode(errors="replace") for file in self.files)
        for descriptor in (self.listener, *self.files):
            os.close(descriptor)


def supervise(starts, jobs):
    """Runs programs, a few at a time. `starts` has functions that each return a started `Supervised`; more may be added
    meanwhile. Yields those that have finished."""
    poll, running = select.epoll(), {}
    while starts or running:
        while starts and len(running) < jobs:
            run = starts.popleft()()
            running[run.listener] = run
            poll.register(run.listener, select.EPOLLIN)
        for listener, events in poll.poll(0.25):
            if events & select.EPOLLIN:
                running[listener].answer()
                continue
            # No thread has the filter any more.
            poll.unregister(listener)
            run = running.pop(listener)
            run.finish()
            yield run
        for run in running.values():
            run.check_time()
