#!/usr/bin/env bash
# Foundation of Swift: a statically linked program may have no time zones, and takes GMT for the local one.
#
# Expected: TimeZone and Calendar give the same answers however a program is linked, or the linker fails.
#
# Seen: with -static-stdlib or -static-executable, a program that only asks for zones gets GMT as the current one, nil
# for Europe/Berlin, and the hour of UTC. Nothing warns. The program is right if it contains a call that needs ICU, such
# as DateFormatter's, even one that never runs. String.range(of:) helps, too. FileManager does not help, and neither
# does "import FoundationInternationalization" alone.
# FoundationEssentials asks a function for the class of such zones, and its own version gives nil. The replacement is in
# FoundationInternationalization, by @_dynamicReplacement. No symbol refers to it, so the linker takes it from the
# static library only if the program needs that member for something else. A shared library is loaded whole.
# Debian's 6.0.3 links nothing with -static-executable: it lacks three libraries of ICU that it asks the linker for.
#
# Seen too, but not checked here: 6.3.1 gives the same with "swift build --static-swift-stdlib", debug and release. A
# program without ICU has 21 MB, and one with it 62 to 70 MB.
#
# Versions: swiftlang 6.0.3-2 of Debian trixie, x86-64. If swiftc is on the path, that one, too: of Swift 6.3.1.
# Date: 2026-11-28. Duration: 1 to 3 minutes, with a download of 580 MB. It needs root, for a chroot, and 3.5 GB in the
# folder for temporary files. MIRROR names another mirror.
# Output: see `expected` below. The columns are the current zone, Europe/Berlin, and the hour of 11:06:40 UTC.
set -euo pipefail
suite=trixie version=6.0.3-2
rows="\
zones, dynamic                   Europe/Berlin Europe/Berlin 12
zones, -static-stdlib            GMT nil 11
import, -static-stdlib           GMT nil 11
files, -static-stdlib            GMT nil 11
range, -static-stdlib            Europe/Berlin Europe/Berlin 12
never, -static-stdlib            Europe/Berlin Europe/Berlin 12"
expected="\
swiftlang $version
$rows"
if command -v swiftc >/dev/null; then
    expected+="
swiftc on the path
$rows
zones, -static-executable        GMT nil 11
never, -static-executable        Europe/Berlin Europe/Berlin 12"
fi
folder=$(mktemp -d) child=
root=$folder/root
stop() {
    [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null || true
    rm -rf --one-file-system "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export DEBIAN_FRONTEND=noninteractive

# need FILE-OR-COMMAND PACKAGE: installs the package if the file or command is missing.
need() {
    [ -e "$1" ] || command -v "$1" >/dev/null ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2" >/dev/null; }
}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
need "$keyring" debian-archive-keyring
need mmdebstrap mmdebstrap
mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ && !seen++ { print $2 }')
mirror=${MIRROR:-${mirror:-http://deb.debian.org/debian}}

# What this machine's apt needs to reach a mirror, such as a proxy.
mapfile -t options < <(apt-config dump |
    awk '/^Acquire::(http|https|Retries|Check-)/ && !/ "";$/ { print "--aptopt=" $0 }')
# Bash handles a signal in `wait`, but not while a program in the foreground runs.
timeout 1500 mmdebstrap --quiet --mode=root --variant=apt \
    --include="swiftlang=$version,libc6-dev,libstdc++-14-dev,tzdata" "${options[@]}" \
    --keyring="$keyring" --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' "$suite" "$root" "$mirror" </dev/null &
child=$!
wait "$child" || { echo "FAIL: no root with swiftlang $version from $mirror"; exit 1; }
child=

mkdir "$root/programs"
cd "$root/programs"
cat >zones.swift <<'SWIFT'
import Foundation

let date = Date(timeIntervalSince1970: 1_795_000_000)
let berlin = TimeZone(identifier: "Europe/Berlin")
print(TimeZone.current.identifier, berlin?.identifier ?? "nil", Calendar.current.component(.hour, from: date))
SWIFT
{ echo 'import FoundationInternationalization' && cat zones.swift; } >import.swift
{ cat zones.swift && echo 'if !FileManager.default.fileExists(atPath: "/") { print("no files") }'; } >files.swift
{ cat zones.swift && echo 'if CommandLine.arguments[0].range(of: "*") != nil { print("a star") }'; } >range.swift
{ cat zones.swift && echo 'if CommandLine.arguments.count > 1 { print(DateFormatter()) }'; } >never.swift
cat >run <<'RUN'
# row PROGRAM LINKING
row() {
    local how=$2
    [ "$how" != dynamic ] || how=
    swiftc $how -o program "$1.swift" >log 2>&1 || { tail log; return; }
    printf '%-32s %s\n' "$1, $2" "$(TZ=Europe/Berlin ./program 2>&1)"
}
row zones dynamic
for program in zones import files range never; do row "$program" -static-stdlib; done
RUN
cp -r . "$folder/programs"

cd "$folder"
{
    timeout --kill-after=1 600 unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 /bin/bash -c "
            dpkg-query -W -f \"\\\${Package} \\\${Version}\\n\" swiftlang
            cd /programs && . ./run"' bash "$root" ||
        echo "FAIL: the commands ended with status $?"
    if command -v swiftc >/dev/null; then
        echo 'swiftc on the path'
        cd programs
        . ./run
        for program in zones never; do row "$program" -static-executable; done
    fi
} </dev/null >output 2>&1 &
child=$!
wait "$child" || echo "FAIL: the commands ended with status $?" >>output
child=
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
