#!/usr/bin/env bash
# Linux with PREEMPT_RT: one Debian kernel has the file /sys/kernel/realtime, and a newer one lacks it.
#
# Expected: /sys/kernel/realtime contains 1 on a kernel with PREEMPT_RT, and its absence means an ordinary kernel.
# A kernel package of Debian contains the image /boot/vmlinuz-RELEASE.
#
# Seen: the real-time kernel 6.12 has the file. Debian built it with the PREEMPT_RT patches, as its package says. The
# real-time kernel 7.2 lacks the file: its package names the configuration only. The word PREEMPT_RT in
# /proc/sys/kernel/version (uname -v) identifies both.
# The package linux-image-RELEASE of 7.2 contains nothing in /boot. The image is in the package linux-binary-RELEASE,
# as /usr/lib/modules/RELEASE/vmlinuz.
#
# Versions: Debian's linux-image-6.12.117+deb13-rt-amd64 6.12.117-1 (trixie), linux-image-7.2.13+deb14-rt-amd64 7.2.13-1
# and linux-binary-7.2.13+deb14-rt-amd64 7.2.13-1 (sid); qemu 7.2.22 and busybox 1.35.0.
# Date: 2026-11-27. Duration: half a minute under software emulation, with a download of 125 MB. Mirrors keep only
# the current version of sid. MIRROR names another mirror, such as a snapshot of Debian's archive of that date.
# Output: see `expected` below.
set -euo pipefail
old=6.12.117+deb13-rt-amd64 new=7.2.13+deb14-rt-amd64
expected="\
linux-image-$old: ./boot/vmlinuz-$old
$old: #1 SMP PREEMPT_RT Debian 6.12.117-1 (2026-11-12)
$old: /sys/kernel/realtime: 1
linux-image-$new: no image
linux-binary-$new: ./usr/lib/modules/$new/vmlinuz
$new: #1 SMP PREEMPT_RT Debian 7.2.13-1 (2026-10-28)
$new: /sys/kernel/realtime: missing"
folder=$(mktemp -d) guest=
trap '[ -z "$guest" ] || kill "$guest" || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$folder"
export DEBIAN_FRONTEND=noninteractive

# need FILE-OR-COMMAND PACKAGE: installs the package if the file or command is missing.
need() {
    [ -e "$1" ] || command -v "$1" >/dev/null ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2" >/dev/null; }
}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
need "$keyring" debian-archive-keyring
need qemu-system-x86_64 qemu-system-x86
need busybox busybox-static
need cpio cpio
mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ && !seen++ { print $2 }')
mirror=${MIRROR:-${mirror:-http://deb.debian.org/debian}}

# download SUITE VERSION PACKAGE...: makes PACKAGE.tar, with lists of packages apart from those of this machine.
download() {
    local place=$folder/$1 package
    mkdir -p "$place"/{lists/partial,archives/partial}
    touch "$place/status"
    echo "deb [arch=amd64 signed-by=$keyring] $mirror $1 main" >"$place/sources.list"
    local apt=(-qq -o APT::Architecture=amd64 -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any
        -o Acquire::Check-Valid-Until=false -o Dir::Cache="$place" -o Dir::Etc::sourcelist="$place/sources.list"
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
        -o Dir::State::lists="$place/lists" -o Dir::State::status="$place/status")
    timeout 300 apt-get "${apt[@]}" update
    for package in "${@:3}"; do
        timeout 600 apt-get "${apt[@]}" download "$package=$2" ||
            { echo "FAIL: $mirror lacks $package $2"; exit 1; }
        dpkg-deb --fsys-tarfile "$package"_*.deb >"$package.tar"
    done
}

# image PACKAGE: names the kernel's image in the package, and extracts it.
image() {
    local path
    path=$(tar -tf "$1.tar" | grep -E '/vmlinuz[^/]*$|^\./boot/.' | grep -vE '/(System.map|config)-' || echo 'no image')
    echo "$1: $path"
    [[ $path = no* ]] || tar -xOf "$1.tar" "$path" >vmlinuz
}

# boot RELEASE: runs the image in a guest, and prints what it says.
boot() {
    timeout --kill-after=10 150 qemu-system-x86_64 -accel tcg -machine q35 -cpu max -m 512 -nic none -no-reboot \
        -display none -monitor none -serial file:console -kernel vmlinuz -initrd initrd \
        -append 'console=ttyS0 quiet panic=1' </dev/null &
    guest=$!
    wait "$guest" || echo "FAIL: qemu ended with status $?"
    guest=
    tr -d '\r' <console | sed -n "s/^@/$1: /p"
}

mkdir -p root/bin root/proc root/sys
cp "$(command -v busybox)" root/bin/busybox
cat >root/init <<'INIT'
#!/bin/busybox sh
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
echo "@$(busybox cat /proc/sys/kernel/version)"
echo "@/sys/kernel/realtime: $(busybox cat /sys/kernel/realtime 2>/dev/null || echo missing)"
busybox reboot -f
INIT
chmod +x root/init
(cd root && find . | cpio --quiet -o -H newc >../initrd)
download trixie 6.12.117-1 "linux-image-$old"
download sid 7.2.13-1 "linux-image-$new" "linux-binary-$new"
{
    image "linux-image-$old"
    boot "$old"
    image "linux-image-$new"
    image "linux-binary-$new"
    boot "$new"
} >output
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
