#!/usr/bin/env bash
# APScheduler: if clocks go forward in March, a monthly job at midnight leaves out 1 April, and a daily one a day.
#
# Expected: a job at 00:00 on the first of each month runs on 1 April, and a job at 00:30 each day on the day after the
# change. No clock changes at these times: those of Berlin go forward on 29 March 2026, from 02:00 to 03:00.
#
# Seen: the monthly job goes from 1 March to 1 May, and the daily one from 29 to 31 March. A job at 01:00 is right.
# London, New York and Beirut miss 1 April, too, each year. Sydney, which changes in October, misses 1 November.
# The search adds the days until 1 April as multiples of 24 hours and comes to 01:00, which is after the job's time. So
# it takes the next day, or the next month. The documentation warns only of times that a day lacks or has twice.
#
# Seen too, but not checked here: a scheduler that runs on 10 March (libfaketime) gives 1 May as its job's next time, in
# both versions. A closed report has the daily job: https://github.com/agronholm/apscheduler/issues/606.
#
# Versions: APScheduler 3.11.3 with tzlocal 5.4.5, and 4.0.0a6 with anyio 4.16.0; python 3.11.7, tzdata 2025b.
# Date: 2026-11-28. Duration: 15 seconds, with a download of 1 MB.
# Output: see `expected` below.
set -euo pipefail
jobs="\
  00:00 on each 1st   2026-02-01 2026-03-01 2026-05-01 2026-06-01
  00:30 each day      2026-03-28 2026-03-29 2026-03-31 2026-04-01
  01:00 each day      2026-03-28 2026-03-29 2026-03-30 2026-03-31"
expected=$'3.11.3\n'$jobs$'\n4.0.0a6\n'$jobs
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1

cat >search.py <<'PYTHON'
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from itertools import islice
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

BERLIN = ZoneInfo("Europe/Berlin")


def runs(expression, start):
    """Asks as the schedulers do: 3.11 asks again shortly after each run."""
    if version("APScheduler").startswith("4"):
        trigger = CronTrigger.from_crontab(expression, start_time=start, timezone=BERLIN)
        while True:
            yield trigger.next()
    trigger, last, now = CronTrigger.from_crontab(expression, timezone=BERLIN), None, start
    while True:
        last = trigger.get_next_fire_time(last, now)
        yield last
        now = (last.astimezone(timezone.utc) + timedelta(milliseconds=10)).astimezone(BERLIN)


print(version("APScheduler"))
for title, expression, start in [
    ("00:00 on each 1st", "0 0 1 * *", datetime(2026, 1, 15, 12, tzinfo=BERLIN)),
    ("00:30 each day", "30 0 * * *", datetime(2026, 3, 27, 12, tzinfo=BERLIN)),
    ("01:00 each day", "0 1 * * *", datetime(2026, 3, 27, 12, tzinfo=BERLIN)),
]:
    print(f"  {title:19}", *(f"{date:%F}" for date in islice(runs(expression, start), 4)))
PYTHON
for packages in 'APScheduler==3.11.3 tzlocal==5.4.5' 'APScheduler==4.0.0a6 anyio==4.16.0'; do
    read -ra list <<<"$packages"
    python3 -m venv --clear environment
    timeout 300 environment/bin/pip install -q "${list[@]}" || { echo "FAIL: no $packages"; exit 1; }
    environment/bin/python search.py
done >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
