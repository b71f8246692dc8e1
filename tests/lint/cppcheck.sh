#!/bin/sh
# cppcheck over the C files of tuner/. Versions differ in what they find, so that only 2.10 (Debian 12's) will
# do; exits with 77 (skipped) where it is not installed.
set -eu
cd "$(dirname "$0")/../.."
case $(cppcheck --version 2>/dev/null) in
'Cppcheck 2.10'*) ;;
*)
    echo "cppcheck 2.10 not found; install the package cppcheck" >&2
    exit 77
    ;;
esac
# What clang-tidy says as well (style) and tests, which end at an assertion that cppcheck does not know, are not asked for,
# nor are ctunullpointer and ctuuninitvar: from function to function it follows no condition. Of the
# configurations of a file, only the first is checked: what is conditional in tuner/ is for sanitizers and paths.
find tuner -name '*.c' -print0 |
    xargs -0 nice cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
        --error-exitcode=1 --max-configs=1 -Ituner --suppress=ctunullpointer --suppress=ctuuninitvar
