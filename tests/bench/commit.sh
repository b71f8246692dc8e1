#!/bin/sh
# Prints the commit of SOURCE, a checkout of the project, for the column `commit` of the tables that the benchmarks write:
#     tests/bench/commit.sh SOURCE
# This is $COMMIT if set (a copy of the project without .git does not know its commit), else git's, else "unknown".
set -eu

echo "${COMMIT:-$(git -C "${1:?usage: tests/bench/commit.sh SOURCE}" rev-parse --short HEAD 2>/dev/null || echo unknown)}"
