#!/usr/bin/env bash
# cronsim: between the two passes of a time that a day has twice, the next date of a daily job lies in the past.
#
# Expected: the iterator returns dates after the given one. Backwards, it returns dates before it.
#
# Seen: clocks of Berlin go back on 25 October 2026 from 03:00 to 02:00. At the second 02:10, the next 02:30 is the
# first one, 40 minutes ago. The previous one is that of 24 October, although the first 02:30 of this day is nearer.
# So a caller that sleeps until the next date does not sleep. The search drops the zone of a job with a fixed hour: it
# cannot tell the two 02:10 apart, and returns the first 02:30. At both 02:45 the results are right.
#
# Seen too, but not checked here: croniter 7.0.0 and APScheduler 3.11.3 return the second 02:30. cronsim follows
# Debian's cron, whose 3.0pl1-162 runs the job then if it was started at the second 02:10.
#
# Versions: cronsim 2.8; python 3.11.7, tzdata 2025b.
# Date: 2026-11-28. Duration: five seconds, with a download of 20 kB.
# Output: see `expected` below.
set -euo pipefail
expected="\
from 25 02:10+0200: next 25 02:30+0200, before 24 02:30+0200
from 25 02:45+0200: next 26 02:30+0100, before 25 02:30+0200
from 25 02:10+0100: next 25 02:30+0200, which is past, before 24 02:30+0200
from 25 02:45+0100: next 26 02:30+0100, before 25 02:30+0200"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >search.py <<'PYTHON'
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from cronsim import CronSim

BERLIN = ZoneInfo("Europe/Berlin")
for fold in (0, 1):
    for minute in (10, 45):
        start = datetime(2026, 10, 25, 2, minute, fold=fold, tzinfo=BERLIN)
        after, before = (next(CronSim("30 2 * * *", start, reverse=reverse)) for reverse in (False, True))
        past = ", which is past" if after.astimezone(timezone.utc) < start.astimezone(timezone.utc) else ""
        print(f"from {start:%d %H:%M%z}: next {after:%d %H:%M%z}{past}, before {before:%d %H:%M%z}")
PYTHON
python3 -m venv environment
timeout 300 environment/bin/pip install -q --disable-pip-version-check cronsim==2.8 ||
    { echo 'FAIL: no cronsim 2.8'; exit 1; }
environment/bin/python search.py >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
