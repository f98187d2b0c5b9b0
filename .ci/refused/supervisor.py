"""Runs a program and answers its system calls: counts them, and makes one of them fail.

The kernel asks for each call that a seccomp filter names (SECCOMP_RET_USER_NOTIF in seccomp(2)): the program goes on
when this process has answered. It needs no privilege. Counting is global over all threads, from the program's first
mark on: a call of getsid with a negative argument (Tests/FaultProbe/FaultProbe.swift).

One thread serves all programs: a process with several threads could not fork safely.
"""
import array
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
    """The number of each system call on this machine, by name."""
    for compiler in ("cc", "clang", "gcc"):
        try:
            done = subprocess.run([compiler, "-E", "-dM", "-"], input="#include <sys/syscall.h>\n",
                                  capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        lines = (line.split() for line in done.stdout.splitlines() if line.startswith("#define __NR_"))
        return {line[1].removeprefix("__NR_"): int(line[2]) for line in lines if line[2].isdigit()}
    raise SystemExit("a C compiler is missing, which tells the numbers of the system calls")


@functools.cache
def names():
    """The name of each system call, by number."""
    return {number: name for name, number in numbers().items()}


def compiled(calls):
    """A filter that asks about the given calls, or about all of them if `calls` is None."""
    def instruction(code, value, if_true=0, if_false=0):
        return struct.pack("=HBBI", code, if_true, if_false, value)

    listed, verdict, otherwise = (UNASKED, ALLOW, ASK) if calls is None else (calls, ASK, ALLOW)
    program = [instruction(LOAD_NUMBER, 0)]
    for name in listed:
        if name in numbers():
            program += [instruction(IF_EQUAL, numbers()[name], 0, 1), instruction(RETURN, verdict)]
    program.append(instruction(RETURN, otherwise))
    return b"".join(program)


class Supervised:
    """A program whose calls are answered.

    `judge(run, name, arguments, thread)` is called for each call between the program's first mark and its last one. It
    returns an error number, or None if the call goes on.
    """

    def __init__(self, command, environment, calls, judge, limit):
        self.judge, self.step, self.output, self.errors = judge, None, b"", b""
        self.began, self.limit, self.status, self.timed_out = time.monotonic(), limit, None, False
        out, err, ours = os.pipe(), os.pipe(), socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        program = compiled(calls)
        self.pid = os.fork()
        if self.pid == 0:
            self._become(command, environment, program, out[1], err[1], ours[1])
        for end in (out[1], err[1]):
            os.close(end)
        ours[1].close()
        _, ancillary, _, _ = ours[0].recvmsg(1, socket.CMSG_SPACE(4))
        ours[0].close()
        if not ancillary:
            raise SystemExit("the kernel refuses a seccomp filter with a listener (Linux 5.19 or newer is needed)")
        self.listener = array.array("i", ancillary[0][2])[0]
        self.open = {out[0]: "output", err[0]: "errors", self.listener: None}

    @staticmethod
    def _become(command, environment, program, out, err, channel):
        """Executes the program in the forked child."""
        try:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
            libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            buffer = ctypes.create_string_buffer(program, len(program))
            header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
            number, flags = numbers()["seccomp"], NEW_LISTENER | WAIT_KILLABLE
            listener = libc.syscall(number, SET_MODE_FILTER, flags, header)
            if listener >= 0:
                channel.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
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
        except OSError:
            return  # The thread was killed.
        identity, thread, _, number, _, _, *arguments = NOTIFICATION.unpack(buffer)
        name, error = names().get(number, str(number)), None
        mark = ctypes.c_int(arguments[0] & 0xFFFFFFFF).value
        if name == "getsid" and mark < 0:
            self.step = FIRST_MARK - mark if mark != END_MARK else None
        elif self.step is not None:
            error = self.judge(self, name, arguments, thread)
        # brk reports a failure by a break that is not the one asked for.
        value = 0 if error is None or name == "brk" else -error
        flags = CONTINUE if error is None else 0
        try:
            fcntl.ioctl(self.listener, SEND, RESPONSE.pack(identity, 0, value, flags))
        except OSError:
            pass  # The thread was killed meanwhile.

    def serve(self, descriptor, events):
        """Serves a ready descriptor. Returns false if it has ended."""
        kind = self.open[descriptor]
        if kind is None:
            if events & select.EPOLLIN:
                self.answer()
                return True
        elif data := os.read(descriptor, 65536):
            setattr(self, kind, getattr(self, kind) + data)
            return True
        del self.open[descriptor]
        return False

    def check_time(self):
        """Kills the program if it has run for too long."""
        self.seconds = time.monotonic() - self.began
        if self.seconds > self.limit and not self.timed_out:
            self.timed_out = True
            os.kill(self.pid, signal.SIGKILL)

    @property
    def text(self):
        """What the program has written."""
        return (self.errors + self.output).decode(errors="replace")

    def finish(self):
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)


def supervise(starts, jobs):
    """Runs programs, a few at a time. `starts` yields functions that each return a started `Supervised`; yields those
    that have finished."""
    poll, running, owners, starts = select.epoll(), set(), {}, iter(starts)
    while True:
        while len(running) < jobs and (start := next(starts, None)):
            run = start()
            running.add(run)
            for descriptor in run.open:
                owners[descriptor] = run
                poll.register(descriptor, select.EPOLLIN)
        if not running:
            return
        for descriptor, events in poll.poll(0.25):
            if not owners[descriptor].serve(descriptor, events):
                del owners[descriptor]
                poll.unregister(descriptor)
                os.close(descriptor)
        for run in list(running):
            run.check_time()
            if not run.open:
                run.finish()
                running.remove(run)
                yield run
