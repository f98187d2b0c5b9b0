"""The lives of a service, each with one system call failed, and what can come of one."""
import collections
import errno
import fnmatch
import json
import os
import pathlib
import re
import signal

import supervisor

BACKENDS = ("timerfd", "hybrid", "libevent", "dispatch", "runloop")
# The steps of `fault-probe`, for each backend. Other lives use a service in other ways; they are named BACKEND+NAME.
LIVES = {
    "": "service earlier=1000 schedule=1x1000 ticks-or-ends=10 cancel schedule=1x3600000000 rest=0.1 shutdown "
        "schedule=1x1000 ticks-or-ends=5",
    "queue": "queue schedule=1x1000 ticks-or-ends=10 cancel rest=0.1 shutdown schedule=1x1000 ticks-or-ends=5",
    "options": "queue options=preferred schedule=1x1000 ticks-or-ends=5 cancel rest=0.1 shutdown options=required "
               "schedule=1x1000 ticks-or-ends=5",
    "sweep": "orphan shutdown schedule=1x1000 ticks-or-ends=5",
    "watch": "watch watch",
    "long": "schedule=1x100000 rest=2.2 cancel shutdown schedule=1x1000 ticks-or-ends=5",
    "silent": "schedule=1x100000 ticks-or-ends=2 close=[timerfd] ends=15 shutdown schedule=1x1000 ticks-or-ends=5",
}
OTHERS = ("timerfd+queue", "timerfd+options", "timerfd+sweep", "timerfd+watch", "timerfd+long", "libevent+long",
          "libevent+silent")
SUBJECTS = BACKENDS + OTHERS

# The errors that the manual page of a call names, and that can happen to valid arguments or to a descriptor that
# another part of the program has closed. A sandbox refuses with EPERM or ENOSYS.
ERRORS = {call: errors.split() for calls, errors in {
    "timerfd_create eventfd2": "EMFILE ENFILE ENODEV ENOMEM",
    "timerfd_settime": "EBADF EINVAL",
    "read": "EAGAIN EINTR EBADF EINVAL EIO",
    "pread64": "EBADF EIO ESPIPE",
    "write": "EAGAIN EINTR EBADF EINVAL",
    "poll ppoll": "EINTR EINVAL ENOMEM",
    "epoll_create1": "EMFILE ENFILE ENOMEM",
    "epoll_ctl": "ENOMEM ENOSPC EBADF EPERM",
    "epoll_wait epoll_pwait epoll_pwait2": "EINTR EBADF EINVAL",
    "pipe2 socketpair": "EMFILE ENFILE",
    "close": "EINTR EIO EBADF",
    "fcntl": "EBADF",
    "dup2": "EBADF EINTR",
    "openat": "EMFILE ENFILE ENOMEM EACCES ENOENT EINTR",
    "newfstatat readlink": "EACCES ENOENT ENOMEM",
    "clone": "EAGAIN ENOMEM EPERM",
    "clone3": "EAGAIN ENOMEM EPERM ENOSYS",
    "mmap": "ENOMEM EAGAIN",
    "munmap mprotect brk": "ENOMEM",
    "madvise": "ENOMEM EAGAIN EINVAL",
    "mlockall": "ENOMEM EPERM EAGAIN",
    "futex-wait": "EAGAIN EINTR",
    "futex-lock-pi": "ENOMEM EAGAIN",
    "clock_nanosleep": "EINTR EPERM",
    "prctl sched_setscheduler sched_setaffinity sched_getattr": "EINVAL EPERM",
    "getrandom": "EINTR ENOSYS",
    "sched_getscheduler getpriority": "EPERM ESRCH",
    "sched_getaffinity": "EINVAL ESRCH",
    "sched_setattr": "EINVAL EPERM EBUSY",
    "setpriority": "EACCES EPERM",
    "prlimit64 sysinfo": "EPERM",
}.items() for call in calls.split()}
# These have no error for valid arguments.
UNFAILING = set("""futex-wake futex-unlock-pi rt_sigprocmask rt_sigaction rt_sigreturn getpid gettid getuid geteuid
    getgid getegid sched_yield clock_gettime set_robust_list rseq exit exit_group sigaltstack uname""".split())
FUTEX = {0: "futex-wait", 9: "futex-wait", 1: "futex-wake", 6: "futex-lock-pi", 13: "futex-lock-pi",
         7: "futex-unlock-pi", 8: "futex-trylock-pi"}

# A step that takes more seconds is late. The watchdog checks once a second, sets a late alarm anew within two, and
# calls an alarm silent after five.
PATIENCE = collections.defaultdict(lambda: 0.9, {"orphan": 3.5, "rest=2.2": 3, "ends=15": 8})
REFUSALS = ("refused by the system", "unavailable", "backend failed")

Case = collections.namedtuple("Case", "life call number error")
Outcome = collections.namedtuple("Outcome", "name detail")


def text_of(case):
    return f"{case.life}/{case.call}:{case.number}:{case.error}"


def case_of(text):
    found = re.fullmatch(r"([\w+]+)/([\w-]+):(\d+):(E\w+)", text)
    if not found or not hasattr(errno, found[4]) or found[1] not in SUBJECTS:
        raise SystemExit(f"not a case: {text} (LIFE/CALL:NUMBER:ERROR, as in timerfd/read:3:EBADF)")
    return Case(found[1], found[2], int(found[3]), found[4])


class Life(supervisor.Supervised):
    """One run of a life, with its calls counted and at most one of them failed."""

    def __init__(self, probe, case, attempt=0, asked=None):
        self.case, self.attempt, self.counts, self.failed = case, attempt, collections.Counter(), None
        backend, _, name = case.life.partition("+")
        self.steps = LIVES[name].split()
        stack = "enable=yes,color=no,threads=crashed,images=none,registers=none,cache=no,interactive=no"
        environment = dict(os.environ, SWIFT_BACKTRACE=stack)
        super().__init__([probe, backend, "suspending", *self.steps], environment, asked, 50)

    def judge(self, name, arguments, thread):
        # The main thread sleeps in the probe's own waits only, and looks for descriptors to close.
        is_own = thread == self.pid and (name == "clock_nanosleep" or self.steps[self.step].startswith("close"))
        if self.failed or is_own:
            return None
        if name == "futex":
            name = FUTEX.get(arguments[1] & 0x7F, name)
        self.counts[name] += 1
        if name != self.case.call or self.counts[name] != self.case.number:
            return None
        self.failed = (self.step, self.name_of_thread(thread))
        return getattr(errno, self.case.error)

    @property
    def outcome(self):
        """What came of it."""
        if self.timed_out:
            return Outcome("hang", f"killed after {self.limit} s")
        if self.status:
            return self.crash
        report = json.loads(self.output)
        steps, timers = report["steps"], report["timers"]
        refused = [step for step in steps if step.get("refusal")]
        failures = [text for timer in timers for text in timer["failures"]]
        words = "; ".join(dict.fromkeys([step["refusal"]["text"] for step in refused] + failures))
        for timer in timers:
            if timer.get("flaw"):
                return Outcome("wrong ticks", timer["flaw"])
            if len(timer["ends"]) > 1:
                return Outcome("wrong end", f"ends {timer['ends']}")
        for step in steps:
            if not step["isMet"] and not step.get("refusal"):
                return Outcome("wrong end" if step["text"] == "cancel" else "silent", f"{step['text']} {words}")
            # A timer whose backend has failed cannot be rescheduled.
            if step.get("refusal") and step["refusal"]["code"] not in (*REFUSALS, *["timer ended"][:len(failures)]):
                return Outcome("wrong error", words)
            if step["text"].startswith("rest") and step["cpuSeconds"] > 0.25 * step["seconds"]:
                return Outcome("burns", f"{step['cpuSeconds']:.2f} s in {step['seconds']:.2f} s {words}")
        ends = [index for index, step in enumerate(steps) if step["text"] == "shutdown"]
        if self.failed and any(self.failed[0] < end < steps.index(step) for end in ends for step in refused):
            return Outcome("refused from then on", words)
        delay, text = max((step["seconds"] - PATIENCE[step["text"]], step["text"]) for step in steps)
        if delay > 0 and not words:
            return Outcome("late" if delay < 2 else "too late", f"{text} took {delay:.1f} s longer than it may")
        name = "ends" if failures else "error" if refused else "ticks on"
        return Outcome(name + (" after seconds" if delay > 0 else ""), words)

    @property
    def crash(self):
        """The end of the process by a signal, in the library of the first frame that is not the C library's."""
        frames = re.findall(r"^ *\d+ (?:\[\w+\])? *0x\w+ (.*?) in (\S+)", self.errors, re.MULTILINE)
        frames = [frame for frame in frames if not frame[1].startswith("libc.so")]
        if self.status > 0 or not frames:
            return Outcome("crash", f"status {self.status}")
        return Outcome(f"crash in {frames[0][1]}", f"{signal.Signals(-self.status).name} in {frames[0][0]}")


KNOWN = [line.split(None, 3) for line in pathlib.Path(__file__).with_name("known.txt").read_text().splitlines()
         if line and not line.startswith("#")]


def reasons(case, found):
    """The numbers of the known outcomes that an outcome is one of."""
    texts = (case.life, case.call, case.error, found.name)
    patterns = ((*known[:3], known[3].split("|")[0].strip()) for known in KNOWN)
    return [number for number, known in enumerate(patterns) if all(map(fnmatch.fnmatchcase, texts, known))]
