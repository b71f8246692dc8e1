#!/usr/bin/env bash
# Everything that wants a GPU, on the machine it stands on, one after the other:
#     tests/gpu_all.sh BUILD RESULTS [PART…]
# BUILD is a build folder. RESULTS gets what each part writes, and PART.log. PART is tests (gpu.sh), mutants, families,
# flush, tuner (tuner_bench.sh, with Kernel Tuner and KTT if they are installed), cover, peers or fleet (skipped if there
# are fewer than two GPUs). The default is all of them, in this order.
# Ends with a line a part; exit status 77 where there is no GPU, 1 where a part failed.
set -uo pipefail

build=$(realpath "${1:?usage: tests/gpu_all.sh BUILD RESULTS [PART…]}")
results=${2:?usage: tests/gpu_all.sh BUILD RESULTS [PART…]}
shift 2
here=$(realpath "$(dirname "$0")")
mkdir -p "$results"
results=$(realpath "$results")
export AUTOTUNE_CACHE=${AUTOTUNE_CACHE:-$results/cache}

if ! "$build/autotune" devices | grep '^device'; then
    exit 77
fi

failed=0
lines=()

# part NAME COMMAND…
part() {
    local name=$1 begin=$SECONDS word=ok
    shift
    "$@" >"$results/$name.log" 2>&1 || word=$?
    case $word in
    ok) ;;
    77) word=skipped ;;
    *) word=FAILED failed=1 ;;
    esac
    lines+=("$word $name ($((SECONDS - begin)) s): $(tail -n 1 "$results/$name.log")")
    echo "${lines[-1]}"
}

[ $# -gt 0 ] || set -- tests mutants families flush tuner cover peers fleet
for name; do
    case $name in
    tests) part tests "$here/gpu.sh" "$build" "$results" ;;
    mutants) part mutants "$here/gpu/mutants.sh" "$build" "$results" ;;
    families) part families "$here/gpu/families.sh" "$build" "$results" ;;
    flush) part flush "$here/bench/flush.sh" "$build" "$results" ;;
    tuner) part tuner "$here/bench/tuner_bench.sh" "$build" "$results" ;;
    cover) part cover "$here/bench/cover.sh" "$build" "$results" ;;
    peers)
        # the kernels of the tuned INI that the families have left, or of the project's
        tuned=$results/tuned.ini
        [ -e "$tuned" ] || tuned=$here/../published/tuned.ini
        part peers python3 "$here/bench/peers.py" --autotune "$build/autotune" --tuned "$tuned" --results "$results" \
            --build "$results/peers"
        ;;
    fleet) part fleet "$here/gpu_fleet.sh" "$build" "$results" ;;
    *)
        echo "no part '$name'; there are tests, mutants, families, flush, tuner, cover, peers, fleet" >&2
        exit 2
        ;;
    esac
done

echo
printf '%s\n' "${lines[@]}"
exit $failed
