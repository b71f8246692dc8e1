#!/bin/sh
# usage: clang_tidy.sh BUILD_DIR: checks every C file of tuner/ that is compiled, by .clang-tidy. Only if AUTOTUNE_ANALYZE
# is set, those of tests/, too, by tests/.clang-tidy, and all of them with the static analyzer (clang-analyzer-*), which
# doubles the time. Versions find different things, so only 14 is used; exits with 77 (skipped) if it is not installed.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
clang_tidy=
for candidate in clang-tidy-14 clang-tidy; do
    case $("$candidate" --version 2>/dev/null) in
    *' version 14.'*) clang_tidy=$candidate && break ;;
    esac
done
if [ -z "$clang_tidy" ]; then
    echo "clang-tidy 14 not found; install the package clang-tidy-14" >&2
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folders=tuner checks='-clang-analyzer-*'
[ -z "${AUTOTUNE_ANALYZE:-}" ] || folders='tuner\|tests' checks=
sed -n 's/^ *"file": "\(.*\.c\)",*$/\1/p' "$build/compile_commands.json" | grep "^$PWD/\($folders\)/" |
    sort -u >"$scratch/files"
echo "$(wc -l <"$scratch/files") files"
[ -s "$scratch/files" ]
# Where the build's warnings are errors, those of clang are not: gcc's are what the build shows.
# What it says on stderr is how many warnings are not shown.
xargs -r -P "$(nproc)" -n 8 nice "$clang_tidy" -p "$build" --quiet --extra-arg=-Wno-error "--checks=$checks" <"$scratch/files" 2>"$scratch/stderr" || {
    grep -v 'warnings\{0,1\} generated\.$' "$scratch/stderr" >&2
    exit 1
}
