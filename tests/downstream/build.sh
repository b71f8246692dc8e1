#!/usr/bin/env bash
# Builds the application against a fresh installation of BUILD, from archives alone, into FOLDER:
#     tests/downstream/build.sh BUILD FOLDER
# FOLDER/sum then needs nothing but libc, and runs on another machine.
set -euo pipefail

build=$(realpath "${1:?usage: build.sh BUILD FOLDER}")
folder=${2:?usage: build.sh BUILD FOLDER}
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=/dev/null
. "$here/../applications.bash"

quietly cmake --install "$build" --prefix "$work/prefix"
quietly cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release -DSTATIC=ON
quietly cmake --build "$work/cmake" --target sum
mkdir -p "$folder"
install -s "$work/cmake/sum" "$folder/sum"
