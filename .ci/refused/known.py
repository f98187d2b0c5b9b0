"""The outcomes that have a reason."""
import fnmatch
import functools
import pathlib


@functools.cache
def known_outcomes():
    """Patterns for life, call, error and outcome, and the reason."""
    lines = pathlib.Path(__file__).with_name("known.txt").read_text(encoding="utf-8").splitlines()
    return [line.split(None, 3)[:3] + [part.strip() for part in line.split(None, 3)[3].split("|", 1)]
            for line in lines if line and not line.startswith("#")]


def reasons(case, found):
    """The numbers of the known outcomes that an outcome is one of."""
    texts = (case.life, case.call, case.error, found.name)
    return [number for number, known in enumerate(known_outcomes()) if all(map(fnmatch.fnmatchcase, texts, known))]


def is_known(case, found):
    return bool(reasons(case, found))
