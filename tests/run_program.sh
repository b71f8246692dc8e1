#!/usr/bin/env bash
# usage: run_program.sh PROGRAM [ARGUMENT…]
# How CTest runs a program of many tests, bats or cmocka. Shows what the program prints and exits as it does, but with
# 77 (Skipped in CTest), and a list, if none of its tests failed and some were skipped. CTest's own
# SKIP_REGULAR_EXPRESSION would show a program with a failed and a skipped test as skipped.
set -u
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# As from a terminal, whatever the caller ignores: nohup, for one, ignores SIGHUP.
env --default-signal=HUP,INT,QUIT,PIPE,TERM,CHLD "$@" 2>&1 | tee "$output"
status=${PIPESTATUS[0]}

# The kernel may spread addresses further than gcc 12's thread sanitizer can handle; then the program does not begin.
if [ "$status" -ne 0 ] && head -n 1 "$output" | grep -q 'ThreadSanitizer: unexpected memory mapping'; then
    exit 77
fi
[ "$status" -eq 0 ] || exit "$status"
skipped=$(sed -nE -e 's/^ok [0-9]+ (.*# skip)/\1/p' -e 's/^\[  SKIPPED \] ([A-Za-z_].*)/\1/p' "$output" | sort -u)
[ -n "$skipped" ] || exit 0
printf 'skipped in this program:\n%s\n' "$skipped"
exit 77
