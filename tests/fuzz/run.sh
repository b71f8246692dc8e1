#!/bin/sh
# usage: run.sh BUILD_DIR NAME: replays the corpus of fuzzer NAME, then runs it for AUTOTUNE_FUZZ_S seconds (default 2).
# An input may take AUTOTUNE_FUZZ_TIMEOUT_S seconds (10: of the wall clock, so a loaded machine needs room).
# New inputs go to AUTOTUNE_FUZZ_CORPUS/NAME where that is set. `cmake --build BUILD_DIR --target fuzz` makes it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fuzzer=$(cd "$1" && pwd)/tests/fuzz/fuzz_$2
if [ ! -x "$fuzzer" ]; then
    echo "no $fuzzer: cmake --build $1 --target fuzz, with clang and libFuzzer (clang-14, libclang-rt-14-dev)" >&2
    exit 1
fi
seconds=${AUTOTUNE_FUZZ_S:-2}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
corpus=$scratch/corpus
if [ -n "${AUTOTUNE_FUZZ_CORPUS:-}" ]; then
    corpus=$AUTOTUNE_FUZZ_CORPUS/$2
fi
mkdir -p "$corpus"
set -- "$2"
dictionary=$here/$1.dict
seeds=$here/corpus/$1
case $1 in # what the project ships is the best of seeds
sweep) more=$here/../../configs ;;
template) more=$here/../../kernel_templates ;;
library) more=$here/corpus/tuned ;;
*) more= ;;
esac
set -- "-timeout=${AUTOTUNE_FUZZ_TIMEOUT_S:-10}" -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 -close_fd_mask=1
if [ -e "$dictionary" ]; then
    set -- "$@" "-dict=$dictionary"
fi
cd "$scratch" # where libFuzzer leaves an input that crashes
# shellcheck disable=SC2086 # $more is one folder or nothing
"$fuzzer" "$@" -runs=0 "$seeds" $more >replay 2>&1 || {
    cat replay
    exit 1
}
# shellcheck disable=SC2086
if ! "$fuzzer" "$@" "-max_total_time=$seconds" "$corpus" "$seeds" $more >log 2>&1; then
    tail -n 60 log
    for input in crash-* leak-* timeout-* oom-* slow-unit-*; do
        [ -e "$input" ] && { echo "$input, base64:" && base64 "$input"; }
    done
    exit 1
fi
grep -E 'Done|stat::(number_of_executed_units|peak_rss_mb|slowest_unit_time_sec)' log
