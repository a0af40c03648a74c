#!/usr/bin/env bash
# expect_report.sh BINARY BUG REPORT: the bug must end the program with an error, and its report must be
# on standard error.
set -euo pipefail
if report=$("$1" "$2" 2>&1); then
  echo "$1 $2 ended well: the sanitizer is asleep"
  exit 1
fi
if ! grep -qF "$3" <<<"$report"; then
  echo "$1 $2 failed without \"$3\":"
  echo "$report"
  exit 1
fi
