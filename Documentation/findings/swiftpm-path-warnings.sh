#!/usr/bin/env bash
# SwiftPM: "warnings are errors" of a dependency breaks builds of its users if they depend on it by path.
#
# Expected: swiftSettings: [.treatAllWarnings(as: .error)] concerns the package's own developers. By SE-0480, it does
# not apply to a target that is "pulled from a package dependency rather than defined in the local package". The user
# of such a package may also have flags of their own, such as "swift build -Xswiftc -suppress-warnings".
#
# Seen: SwiftPM does this if the dependency has a URL: it replaces the setting with -suppress-warnings. If the same
# source is a dependency by path, SwiftPM keeps the setting. A warning in the dependency, such as one that is new in the
# user's compiler, is then an error of the user's build. With -Xswiftc -suppress-warnings, even a dependency without a
# warning does not build: the compiler refuses both flags together. (SE-0480 names this conflict, for a package's own
# targets.) The user can add -Xswiftc -no-warnings-as-errors in front.
#
# Seen too, but not checked here: 6.3.1 of swift.org does the same. Its other build system, --build-system swiftbuild,
# fails for both kinds of dependency, even without a flag of the user: it passes both flags itself (issues 9517 and
# 10192 of swift-package-manager). With -no-warnings-as-errors, it builds. Debian's package cannot run that build
# system.
#
# Versions: swiftlang 6.2.3-1+b1 of Debian sid.
# Date: 2026-11-28. Duration: 2 minutes, with a download of 740 MB. It needs root, for a chroot, and 4.5 GB in the
# folder for temporary files. Mirrors keep only the current version of sid. MIRROR names another mirror, such as a
# snapshot of Debian's archive of that date.
# Output: see `expected` below.
set -euo pipefail
suite=sid version=6.2.3-1+b1
conflict="error: conflicting options '-warnings-as-errors' and '-suppress-warnings'"
expected="\
swiftlang $version
no warning, by path: builds
no warning, by path, -suppress-warnings: $conflict
no warning, by path, -no-warnings-as-errors -suppress-warnings: builds
no warning, by URL: builds
no warning, by URL, -suppress-warnings: builds
no warning, by URL, -no-warnings-as-errors -suppress-warnings: builds
a warning, by path: error: variable 'number' was never mutated
a warning, by path, -suppress-warnings: $conflict
a warning, by path, -no-warnings-as-errors -suppress-warnings: builds
a warning, by URL: builds
a warning, by URL, -suppress-warnings: builds
a warning, by URL, -no-warnings-as-errors -suppress-warnings: builds"
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
timeout 1500 mmdebstrap --quiet --mode=root --variant=apt "${options[@]}" \
    --include="swiftlang=$version,libswiftlang=$version,git,libc6-dev" --keyring="$keyring" \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' "$suite" "$root" "$mirror" </dev/null &
child=$!
wait "$child" || { echo "FAIL: no root with swiftlang $version from $mirror"; exit 1; }
child=

mkdir -p "$root"/packages/{strict/Sources/Strict,user/Sources/User}
cd "$root/packages"
cat >strict/Package.swift <<'SWIFT'
// swift-tools-version:6.2
import PackageDescription
let package = Package(
    name: "strict",
    products: [.library(name: "Strict", targets: ["Strict"])],
    targets: [.target(name: "Strict", swiftSettings: [.treatAllWarnings(as: .error)])])
SWIFT
echo 'import Strict' >user/Sources/User/User.swift

cat >run <<'RUN'
cd /packages
# commit VERSION SOURCE: the dependency, at a commit with a tag.
commit() {
    echo "$2" >strict/Sources/Strict/Strict.swift
    git -C strict add .
    git -C strict -c user.name=name -c user.email=name@example.org commit --quiet --message "$1"
    git -C strict tag "$1"
}
# build CASE DEPENDENCY: builds the user's package, without a flag, and with flags.
build() {
    local flags flag arguments result
    cat >user/Package.swift <<SWIFT
// swift-tools-version:6.2
import PackageDescription
let package = Package(
    name: "user",
    dependencies: [$2],
    targets: [.target(name: "User", dependencies: [.product(name: "Strict", package: "strict")])])
SWIFT
    for flags in '' '-suppress-warnings' '-no-warnings-as-errors -suppress-warnings'; do
        arguments=()
        for flag in $flags; do arguments+=(-Xswiftc "$flag"); done
        rm -rf user/.build user/Package.resolved
        if swift build --build-system native --package-path user "${arguments[@]}" >log 2>&1; then
            result=builds
        else
            result=$(grep -oE -m 1 "error: (conflicting.*|variable 'number' was never mutated)" log || cat log)
        fi
        echo "$1${flags:+, $flags}: $result"
    done
}
# both CASE VERSION
both() {
    build "$1, by path" '.package(path: "../strict")'
    build "$1, by URL" ".package(url: \"file:///packages/strict\", exact: \"$2\")"
}

echo "swiftlang $(dpkg-query -W -f '${Version}' swiftlang)"
git -C strict -c init.defaultBranch=main init --quiet
commit 1.0.0 'public func one() -> Int { 1 }'
both 'no warning' 1.0.0
commit 1.0.1 'public func one() -> Int { var number = 1; return number }'
both 'a warning' 1.0.1
RUN
cd "$folder"
timeout --kill-after=1 600 unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        /bin/bash /packages/run' bash "$root" </dev/null >output 2>&1 &
child=$!
wait "$child" || echo "FAIL: the commands ended with status $?" >>output
child=
cat output
diff <(echo "$expected") output || { echo 'FAIL: not as described'; exit 1; }
