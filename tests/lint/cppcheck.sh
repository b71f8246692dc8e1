#!/bin/sh
# cppcheck over the C files of tuner/ and tests/. Versions differ in what they find, so that only 2.10 (Debian 12's) will
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
# Not asked for:
#   ctunullpointer, ctuuninitvar  from function to function it follows no condition
#   duplicateAssignExpression  least and most of a series begin alike
#   duplicateCondition         `if (status == 0)` before each of several steps
#   redundantContinue          the body of a loop that only waits
#   shadowFunction             nouns are variables and functions; -Wshadow finds what can be mixed up
#   variableScope              buffers that functions write texts to stand at the top
# and in tests not, either:
#   unreadVariable             what cmocka's macros or a query read
#   unusedStructMember         what C++ or a driver's caller reads
find tuner tests -name '*.c' -print0 |
    xargs -0 nice cppcheck --quiet --std=c11 --enable=warning,style,performance,portability --inline-suppr \
        --error-exitcode=1 -Ituner -Itests/standin \
        --suppress=ctunullpointer --suppress=ctuuninitvar --suppress=duplicateAssignExpression --suppress=duplicateCondition --suppress=redundantContinue \
        --suppress=shadowFunction --suppress=variableScope \
        --suppress='unreadVariable:tests/*' --suppress='unusedStructMember:tests/*'
