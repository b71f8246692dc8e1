#!/bin/sh
# usage: shellcheck.sh [SHELLCHECK]: every script of the project, the tests of bats among them.
set -eu
shellcheck=${1:-shellcheck}
cd "$(dirname "$0")/../.."
"$shellcheck" bootstrap.sh .ci/run tuner/man/completion.bash
find tests -name '*.sh' -exec "$shellcheck" {} +

# Not asked for in tests of bats:
#   SC2013, SC2044  words of a file, and files without blanks, are looped over
#   SC2016          the scripts of stand-ins
#   SC2030, SC2031  each test is a subshell, so that what it sets is gone afterwards
#   SC2034, SC2154  variables that a helper sets and a test reads, or the other way round
#   SC2119, SC2120  a helper's arguments, which its other callers give
#   SC2164          a failed cd fails the test
find tests -name '*.ba[ts][sh]' -exec "$shellcheck" --shell=bats \
    --exclude=SC2013,SC2016,SC2030,SC2031,SC2034,SC2044,SC2119,SC2120,SC2154,SC2164 {} +

# SC2314 and SC2315, which say that bats passes over a failed `! COMMAND`, see neither functions nor loops.
if grep -rnE --include='*.ba[ts][sh]' '^ *! ' tests | grep -v '||'; then
    echo "these checks cannot fail; write 'fails COMMAND' (tests/cli/helper.bash)"
    exit 1
fi
