#!/usr/bin/env bash
# cronsim: in a zone whose clocks move by half an hour, an hourly job misses a time that exists. cron runs it.
#
# Expected: cronsim returns the dates at which Debian's cron runs a job, "including its quirky behaviour during DST
# transitions", as its description says. A job at minute 30 of each hour runs whenever the clock shows minute 30.
#
# Seen: clocks of Lord Howe go forward on 4 October 2026 from 02:00 to 02:30, and back on 5 April from 02:00 to 01:30.
# cron runs the job at 01:30 and 02:30 in October, and at both 01:30 in April. cronsim leaves out 02:30 and the second
# 01:30. With the minutes 0 and 30 it is right. If the job has a single minute, the search goes to it in one step: at
# 01:30 it adds an hour of real time, and is at 03:00.
#
# Seen too, but not checked here: backwards, cronsim finds both times. With */30 at hour 2 it leaves out 02:00 in April,
# which exists once. cron, croniter 7.0.0 and APScheduler 3.11.3 find all of these.
#
# Versions: cronsim 2.8; Debian's cron 3.0pl1-162 and libfaketime 0.9.10-2.1, x86-64; python 3.11.7, tzdata 2025b.
# Date: 2026-11-28. Duration: a minute, with a download of 10 MB, most of it package lists. It needs root: cron has its
# own /var/spool, and a clock that is sixty times as fast. MIRROR names another mirror.
# Output: see `expected` below.
set -euo pipefail
expected="\
cron,    forward, 30    01:30+1030 02:30+1100
cron,    forward, 0,30  01:30+1030 02:30+1100
cron,    back,    30    01:30+1100 01:30+1030
cron,    back,    0,30  01:30+1100 01:30+1030
cronsim, forward, 30    01:30+1030
cronsim, forward, 0,30  01:30+1030 02:30+1100
cronsim, back,    30    01:30+1100
cronsim, back,    0,30  01:30+1100 01:30+1030"
[ "$(id -u)" = 0 ] || { echo 'FAIL: this needs root'; exit 1; }
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
need python3 python3-venv
need /usr/share/zoneinfo/Australia/Lord_Howe tzdata

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
for package in cron=3.0pl1-162 libfaketime=0.9.10-2.1; do
    timeout 600 apt-get "${apt[@]}" download "$package" || { echo "FAIL: $mirror lacks $package"; exit 1; }
done
for package in *.deb; do dpkg-deb --extract "$package" root; done
python3 -m venv environment
timeout 300 environment/bin/pip install -q --disable-pip-version-check cronsim==2.8 ||
    { echo 'FAIL: no cronsim 2.8'; exit 1; }

cat >night.sh <<'SH'
# In a mount namespace of its own. The jobs read the real clock, because cron does not pass its environment on.
mount -t tmpfs tmpfs /var/spool
mount -t tmpfs tmpfs /run
[ ! -d /etc/cron.d ] || mount -t tmpfs tmpfs /etc/cron.d
[ ! -f /etc/crontab ] || mount --bind /dev/null /etc/crontab
mkdir -p /var/spool/cron/crontabs
for minutes in 30 0,30; do
    date +%s.%N >"$1-$minutes"
    echo "$minutes * * * * date +\%s.\%N >>$PWD/$1-$minutes"
done >/var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
export TZ=Australia/Lord_Howe FAKETIME_FMT=%s FAKETIME="@$2 x60"
faketime=$PWD/root/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1
LD_PRELOAD=$faketime timeout 40 root/usr/sbin/cron -f || [ $? = 124 ]
SH
cat >search.py <<'PYTHON'
from datetime import datetime, timedelta, timezone
from itertools import takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim

LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
# 90 seconds before 01:30. Each window lasts for 40 minutes.
STARTS = {"forward": datetime(2026, 10, 3, 14, 58, 30, tzinfo=timezone.utc),
          "back": datetime(2026, 4, 4, 14, 28, 30, tzinfo=timezone.utc)}


def cron(name, minutes):
    with open(f"{name}-{minutes}", encoding="utf-8") as log:
        first, *runs = [float(line) for line in log]
    return [STARTS[name] + timedelta(seconds=60 * (run - first)) for run in runs]


def cronsim(name, minutes):
    dates = CronSim(f"{minutes} * * * *", STARTS[name].astimezone(LORD_HOWE))
    end = STARTS[name] + timedelta(minutes=40)
    return takewhile(lambda date: date < end, (date.astimezone(timezone.utc) for date in dates))


for tool in (cron, cronsim):
    for name in STARTS:
        for minutes in ("30", "0,30"):
            found = (date.astimezone(LORD_HOWE) for date in tool(name, minutes))
            print(f"{tool.__name__ + ',':8} {name + ',':8} {minutes:5}", *(f"{date:%H:%M%z}" for date in found))
PYTHON
unshare --mount bash -eu night.sh forward "$(date -d '2026-10-03 14:58:30 UTC' +%s)" &
forward=$!
unshare --mount bash -eu night.sh back "$(date -d '2026-04-04 14:28:30 UTC' +%s)"
wait "$forward"
environment/bin/python search.py >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
