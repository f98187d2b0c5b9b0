#!/usr/bin/env bash
# APScheduler: a job at a time that the day lacks runs later, or not at all if its list also has the hour before.
#
# Expected: clocks of Berlin go forward on 29 March 2026 from 02:00 to 03:00, so the day has no 02:30. The documentation
# of 3.x says that such a job "will not execute at all" on this day. Another hour in the list changes nothing.
#
# Seen: a job at 02:30 runs at 03:30, half an hour after the gap has ended. So does a job of the hours 0 and 2. A job of
# the hours 1 and 2 runs at 01:30 only. If the search sets the hour, it makes the time 02:30 with the offset of before
# the change, which is the instant of 03:30. If it comes from 01:30 minute by minute, it steps over the gap.
#
# Seen too, but not checked here: a report has the time that does not exist, but not the list:
# https://github.com/agronholm/apscheduler/issues/1059.
#
# Versions: APScheduler 3.11.3 with tzlocal 5.4.5, and 4.0.0a6 with anyio 4.16.0; python 3.11.7, tzdata 2025b.
# Date: 2026-11-28. Duration: 15 seconds, with a download of 1 MB.
# Output: see `expected` below.
set -euo pipefail
jobs="\
  hour 2      03:30
  hour 0,2    00:30 03:30
  hour 1,2    01:30
  hour 2,4    03:30 04:30"
expected=$'3.11.3\n'$jobs$'\n4.0.0a6\n'$jobs
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1

cat >search.py <<'PYTHON'
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from itertools import takewhile
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

BERLIN = ZoneInfo("Europe/Berlin")
# Noon of the day before, and the midnight after, as the same clock shows them.
START, END = datetime(2026, 3, 28, 12, tzinfo=BERLIN), datetime(2026, 3, 30, 0, tzinfo=BERLIN)


def runs(expression):
    """Asks as the schedulers do: 3.11 asks again shortly after each run. The results are the instants' local times."""
    if version("APScheduler").startswith("4"):
        trigger = CronTrigger.from_crontab(expression, start_time=START, timezone=BERLIN)
        while True:
            yield trigger.next().astimezone(timezone.utc).astimezone(BERLIN)
    trigger, last, now = CronTrigger.from_crontab(expression, timezone=BERLIN), None, START
    while True:
        last = trigger.get_next_fire_time(last, now)
        yield last.astimezone(timezone.utc).astimezone(BERLIN)
        now = (last.astimezone(timezone.utc) + timedelta(milliseconds=10)).astimezone(BERLIN)


print(version("APScheduler"))
for hours in ["2", "0,2", "1,2", "2,4"]:
    night = takewhile(lambda date: date < END, runs(f"30 {hours} * * *"))
    print(f"  hour {hours:6}", *(f"{date:%H:%M}" for date in night))
PYTHON
for packages in 'APScheduler==3.11.3 tzlocal==5.4.5' 'APScheduler==4.0.0a6 anyio==4.16.0'; do
    read -ra list <<<"$packages"
    python3 -m venv --clear environment
    timeout 300 environment/bin/pip install -q "${list[@]}" || { echo "FAIL: no $packages"; exit 1; }
    environment/bin/python search.py
done >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
