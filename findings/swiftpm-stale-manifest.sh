#!/usr/bin/env bash
# SwiftPM: a manifest that asks for its current folder, or for a file, gets the answer of an earlier command.
#
# Expected: the result of a manifest does not depend on earlier commands. If SwiftPM remembers a result, it evaluates
# the manifest again in a different situation. After "swift package purge-cache", or after "clean", a build evaluates it
# again.
#
# Seen: SwiftPM evaluates the manifest of a dependency in the folder of the root package. So a manifest can find out if
# its package is the root: it compares the current folder with Context.packageDirectory. But SwiftPM remembers the
# result for all folders: a command with "--package-path lib" decides what a later command with "--package-path app"
# gets for lib, and the other way round. SwiftPM evaluates again if the environment differs, such as OLDPWD, or PWD if
# started in lib. The option --manifest-cache none gives the right answer.
# A manifest that looks for a file keeps its answer if the file comes or goes, and "swift build" builds the old program.
# Two memories are in the way: the one of manifests, which "purge-cache" empties, and the one of the build's plan, which
# "clean" empties. Each alone changes nothing. After both, without a build in between, the program is right.
#
# Seen too, but not checked here: 6.2.3 of Debian sid and 6.3.1 of swift.org give the same answers. Pull request 10093
# of swift-package-manager, merged since, takes PWD and OLDPWD out of the key of what SwiftPM remembers.
#
# Versions: swiftlang 6.0.3-2 of Debian trixie.
# Date: 2026-11-28. Duration: 2 minutes, with a download of 580 MB. It needs root, for a chroot, and 3.5 GB in the
# folder for temporary files. MIRROR names another mirror.
# Output: see `expected` below.
set -euo pipefail
suite=trixie version=6.0.3-2
expected="\
swiftlang $version
lib is the root                          root
then lib is a dependency of app          root
the same with --manifest-cache none      dependency
after purge-cache: a dependency          dependency
then lib is the root                     dependency
the same with --manifest-cache none      root
the same with another OLDPWD             root
the same, started in the folder of lib   root
there is no file                         no file
the file comes                           no file
after purge-cache                        no file
then after clean                         file
the file goes                            file
after clean                              file
then after purge-cache                   file
after both                               no file"
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
timeout 1500 mmdebstrap --quiet --mode=root --variant=apt --include="swiftlang=$version,libc6-dev" "${options[@]}" \
    --keyring="$keyring" --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' "$suite" "$root" "$mirror" </dev/null &
child=$!
wait "$child" || { echo "FAIL: no root with swiftlang $version from $mirror"; exit 1; }
child=

mkdir -p "$root"/packages/{lib/Sources/Lib,app/Sources/App,tool/Sources/tool}
cd "$root/packages"
cat >lib/Package.swift <<'SWIFT'
// swift-tools-version:5.9
import Foundation
import PackageDescription
let isRoot = FileManager.default.currentDirectoryPath == Context.packageDirectory
let package = Package(
    name: isRoot ? "root" : "dependency",
    products: [.library(name: "Lib", targets: ["Lib"])],
    targets: [.target(name: "Lib")])
SWIFT
cat >app/Package.swift <<'SWIFT'
// swift-tools-version:5.9
import PackageDescription
let package = Package(
    name: "app",
    dependencies: [.package(path: "../lib")],
    targets: [.target(name: "App", dependencies: [.product(name: "Lib", package: "lib")])])
SWIFT
cat >tool/Package.swift <<'SWIFT'
// swift-tools-version:5.9
import Foundation
import PackageDescription
let isThere = FileManager.default.fileExists(atPath: Context.packageDirectory + "/file")
let package = Package(
    name: "tool",
    targets: [.executableTarget(name: "tool", swiftSettings: isThere ? [.define("FILE")] : [])])
SWIFT
echo 'public let number = 1' >lib/Sources/Lib/Lib.swift
echo 'import Lib' >app/Sources/App/App.swift
cat >tool/Sources/tool/main.swift <<'SWIFT'
#if FILE
print("file")
#else
print("no file")
#endif
SWIFT

cat >run <<'RUN'
cd /packages
row() { printf '%-40s %s\n' "$1" "$2"; }
# lib and app print the name that the manifest of lib gave: lib as the root, or as a dependency of app.
lib() { swift package --package-path lib "$@" describe | sed -n 's/^Name: //p'; }
app() {
    swift package --package-path app "$@" show-dependencies --format json |
        sed -nE 's/.*"name": "(root|dependency)".*/\1/p'
}
purge() { swift package --package-path "$1" purge-cache; }
clean() { swift package --package-path tool clean; }
# The build's plan is complete only in a second build.
tool() {
    for _ in 1 2; do swift build --package-path tool >log 2>&1 || cat log; done
    tool/.build/debug/tool
}

echo "swiftlang $(dpkg-query -W -f '${Version}' swiftlang)"
row 'lib is the root' "$(lib)"
row 'then lib is a dependency of app' "$(app)"
row 'the same with --manifest-cache none' "$(app --manifest-cache none)"
purge lib
row 'after purge-cache: a dependency' "$(app)"
row 'then lib is the root' "$(lib)"
row 'the same with --manifest-cache none' "$(lib --manifest-cache none)"
row 'the same with another OLDPWD' "$(OLDPWD=/tmp lib)"
row 'the same, started in the folder of lib' "$(cd lib && swift package describe | sed -n 's/^Name: //p')"
row 'there is no file' "$(tool)"
touch tool/file
row 'the file comes' "$(tool)"
purge tool
row 'after purge-cache' "$(tool)"
clean
row 'then after clean' "$(tool)"
rm tool/file
row 'the file goes' "$(tool)"
clean
row 'after clean' "$(tool)"
purge tool
row 'then after purge-cache' "$(tool)"
purge tool
clean
row 'after both' "$(tool)"
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
