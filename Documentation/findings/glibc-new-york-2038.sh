#!/usr/bin/env bash
# glibc: a TZ without dates, such as AEST-10AEDT, is New York's clock from 2038 on.
#
# Expected: a rule without dates takes those of the United States, at the offsets that it names: in Sydney's AEST-10AEDT
# clocks are 10 or 11 hours ahead, in any year.
#
# Seen: until 2037 that is so. From 2038 on the clocks are four or five hours behind UTC. The C library takes the
# changes of such a rule from a file, posixrules, which Debian links to New York. For the changes that the file lists,
# up to 2037, it keeps the rule's offsets. After them it follows the rule at the file's end, with the offsets of that
# rule. A rule with dates is right, and so is one without dates if there is no such file.
#
# Seen too: summer that lasts all year, as EST5EDT,0/0,J365/25 of RFC 9636, has winter in the last five hours of each
# year and the first five, because the C library looks for the changes of the year that UTC has.
#
# Versions: libc6 2.36-9+deb12u14, coreutils 9.1-1 and tzdata 2026b-0+deb12u1 of Debian bookworm, x86-64.
# Date: 2026-11-28. Duration: five seconds, with a download of 10 MB. MIRROR names another mirror.
# Output: see `expected` below.
set -euo pipefail
expected="\
AEST-10AEDT                 2037-07-01 23:00 +1100  2038-07-01 08:00 -0400
CET-1CEST                   2037-07-01 14:00 +0200  2038-07-01 08:00 -0400
CET-1CEST,M3.5.0,M10.5.0/3  2037-07-01 14:00 +0200  2038-07-01 14:00 +0200
without posixrules
CET-1CEST                   2037-07-01 14:00 +0200  2038-07-01 14:00 +0200
EST5EDT,0/0,J365/25         2049-12-31 21:00 -0500  2050-01-01 04:00 -0400"
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
for package in libc6=2.36-9+deb12u14 coreutils=9.1-1 libselinux1=3.4-1+b6 libpcre2-8-0=10.42-1 tzdata=2026b-0+deb12u1; do
    timeout 600 apt-get "${apt[@]}" download "$package" || { echo "FAIL: $mirror lacks $package"; exit 1; }
done
for package in *.deb; do dpkg-deb --extract "$package" root; done
zones=$folder/root/usr/share/zoneinfo libraries=$folder/root/lib/x86_64-linux-gnu:$folder/root/usr/lib/x86_64-linux-gnu

# clock RULE INSTANT...: what date(1) of this C library shows.
clock() {
    local rule=$1 instant
    printf '%-26s' "$rule"
    for instant in "${@:2}"; do
        printf '  %s' "$(TZDIR=$zones TZ=$rule root/lib64/ld-linux-x86-64.so.2 --library-path "$libraries" root/bin/date \
            -d "$instant" '+%F %H:%M %z')"
    done
    echo
}
{
    for rule in AEST-10AEDT CET-1CEST CET-1CEST,M3.5.0,M10.5.0/3; do clock $rule 2037-07-01T12:00Z 2038-07-01T12:00Z; done
    rm "$zones/posixrules"
    echo "without posixrules"
    clock CET-1CEST 2037-07-01T12:00Z 2038-07-01T12:00Z
    clock EST5EDT,0/0,J365/25 2050-01-01T02:00Z 2050-01-01T08:00Z
} >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
