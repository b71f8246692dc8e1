#!/bin/sh
# Checks that every C and C++ file of tuner/ and tests/ is as clang-format 14 makes it. Versions differ in what
# they make, so that no other will do; exits with 77 (skipped) where it is not installed.
set -eu
cd "$(dirname "$0")/../.."
clang_format=
for candidate in clang-format-14 clang-format; do
    case $("$candidate" --version 2>/dev/null) in
    *' version 14.'*) clang_format=$candidate && break ;;
    esac
done
if [ -z "$clang_format" ]; then
    echo "clang-format 14 not found; install the package clang-format-14" >&2
    exit 77
fi
find tuner tests \( -name '*.[ch]' -o -name '*.cpp' \) -print0 |
    xargs -0 -r "$clang_format" --dry-run -Werror
