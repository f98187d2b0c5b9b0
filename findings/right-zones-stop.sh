#!/usr/bin/env bash
# tzdata: the zones that count leap seconds, right/NAME, know no change of clocks after their list of leap seconds ends.
#
# Expected: right/Europe/Berlin has the rules of Europe/Berlin, and differs from it by the leap seconds, now 27. Nobody
# knows later leap seconds, so its clocks may be a second wrong in a later year.
#
# Seen: its clocks are wrong by an hour. The list of this package ends on 28 December 2026, and zic writes nothing into
# the file after that: no change of clocks, and no rule. So the C library stays with the last offset, and shows winter
# time in July 2027. Nobody is told. Python's zoneinfo, the last column, reads the same. The folder posix is right, and so are
# zones whose clocks do not change.
#
# Seen too, but not checked here: the files of 2025b end on 28 June 2026, and show summer time in each later winter.
# 2026f has a newer list, which ends on 28 June 2027.
#
# Versions: tzdata 2026b-0+deb12u1 of Debian bookworm, glibc 2.36, python 3.11.7.
# Date: 2026-11-28. Duration: five seconds, with a download of 10 MB. MIRROR names another mirror.
# Output: see `expected` below.
set -euo pipefail
expected="\
2026b
right/Europe/Berlin       2026-07-01 14:00 +0200  2027-07-01 13:00 +0100  2027-07-01 13:00
posix/Europe/Berlin       2026-07-01 14:00 +0200  2027-07-01 14:00 +0200  2027-07-01 14:00
right/America/New_York    2026-07-01 08:00 -0400  2027-07-01 07:00 -0500  2027-07-01 07:00
right/Asia/Tokyo          2026-07-01 21:00 +0900  2027-07-01 21:00 +0900  2027-07-01 21:00"
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
need python3 python3

# The suite's package lists stay apart from those of this machine, and so does the package.
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
timeout 600 apt-get "${apt[@]}" download tzdata=2026b-0+deb12u1 || { echo "FAIL: $mirror lacks this tzdata"; exit 1; }
dpkg-deb --extract tzdata_*.deb root
export TZDIR=$folder/root/usr/share/zoneinfo PYTHONTZPATH=$folder/root/usr/share/zoneinfo

cat >noons.py <<'PYTHON'
import os
import time
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

print(open(os.environ["TZDIR"] + "/tzdata.zi").readline().split()[2])
# Half a minute hides the leap seconds.
noons = [datetime(year, 7, 1, 12, 0, 30, tzinfo=timezone.utc) for year in (2026, 2027)]
for name in ["right/Europe/Berlin", "posix/Europe/Berlin", "right/America/New_York", "right/Asia/Tokyo"]:
    os.environ["TZ"] = name
    time.tzset()
    texts = [time.strftime("%F %H:%M %z", time.localtime(noon.timestamp())) for noon in noons]
    print(f"{name:24}", *texts, noons[1].astimezone(ZoneInfo(name)).strftime("%F %H:%M"), sep="  ")
PYTHON
python3 noons.py >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
