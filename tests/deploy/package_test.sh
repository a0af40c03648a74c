#!/usr/bin/env bash
# `make package`: the Debian package holds what it says, and the root file system is whole: the service starts in it.
#
# usage: package_test.sh TREE FOLDER_OF_PROGRAMS
# Exit 77 (skipped) where the tools of packages are missing; the root file system is entered only as root.
set -euo pipefail
tree=$1 programs=$2
for tool in dpkg-deb dpkg-query strip objdump git python3; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
at=$(mktemp -d)
service=
cleanup() {
  [ -z "$service" ] || kill "$service" 2>/dev/null || true
  rm -rf "$at"
}
trap cleanup EXIT
fail() {
  echo "FAILED $*"
  exit 1
}

SUBAK_BIN=$programs "$tree/tools/package" "$at/out"
deb=$(echo "$at"/out/subak_*.deb)
rootfs=$(echo "$at"/out/subak-*-rootfs.tar.gz)

depends=$(dpkg-deb -f "$deb" Depends)
for package in tzdata libc6 libssl3 libcurl4 libsqlite3-0 libgrpc++1.51; do
  [[ ", $depends," == *", $package,"* ]] || fail "Depends has no $package: $depends"
done
dpkg-deb -x "$deb" "$at/deb"
"$at/deb/usr/bin/subak" version | grep -q '^subak ' || fail "subak does not run"
for file in lib/systemd/system/subakd.service etc/subak/subak.yaml usr/share/bash-completion/completions/subak \
  usr/share/subak/kubernetes/webhooks.yaml usr/share/subak/helm/subak/Chart.yaml usr/bin/kubectl_complete-subak usr/share/doc/subak/docs/install.md usr/share/doc/subak/docs/img/flow.svg; do
  [ -s "$at/deb/$file" ] || fail "no /$file in the package"
done
tar -xzOf "$at"/out/subak-*-chart.tgz subak/Chart.yaml | grep -q '^name: subak$' || fail "the chart's archive has no chart"
"$at/deb/usr/bin/kubectl-subak" queue --help | grep -q 'kubectl subak queue' || fail "kubectl-subak is no plugin"
python3 "$tree/tests/deploy/sbom_test.py" "$tree" "$programs" "$at/out" || fail "the bill of materials"
grep -q "subak-$(dpkg-deb -f "$deb" Version)-rootfs.tar.gz" "$at/out/Containerfile" || fail "Containerfile names another version"

[ "$(id -u)" = 0 ] || { echo "not root: the root file system is not entered"; exit 0; }
mkdir "$at/root"
tar -xzf "$rootfs" -C "$at/root"
[ -s "$at/root/usr/share/zoneinfo/Europe/Berlin" ] || fail "the image has no time zones"
chown 65532:65532 "$at/root/var/lib/subak"
chroot --userspec=65532:65532 "$at/root" /usr/bin/subakd --state /var/lib/subak/subak.db --cluster main:observe \
  --listen-webhook 127.0.0.1:0 --listen-grpc 127.0.0.1:0 --listen-http 127.0.0.1:0 >"$at/ports" 2>"$at/log" &
service=$!
for _ in $(seq 600); do
  [ ! -s "$at/ports" ] || break
  kill -0 "$service" 2>/dev/null || fail "the service ended: $(cat "$at/log")"
  sleep 0.1
done
grpc=$(sed -n 's/.*grpc=\([^ ]*\).*/\1/p' "$at/ports")
chroot --userspec=65532:65532 "$at/root" /usr/bin/subak --server "$grpc" cluster list | grep -q main ||
  fail "the command line does not reach the service: $(cat "$at/log")"
kill "$service"
wait "$service" || fail "it did not stop as asked: $(cat "$at/log")"
service=
echo "the package and the root file system are whole"
