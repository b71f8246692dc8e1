#!/usr/bin/env bash
# The tests that need a GPU, on the machine it stands on:
#     tests/gpu.sh BUILD [RESULTS [PART…]]
# BUILD is a build folder, wherever it lies. RESULTS gets what the shipped sweep writes (default: a folder that is
# removed again). PART is sweep, foreign, format (what templates can say about values; `check --compile` and `run`; the
# keys of templates that the stand-in cannot run), downstream, examples, python (with BUILD's wheel, if
# there is one), repeat (variants that are wrong after their first
# run or on other data, ten times), planted (one variant of every kind that hangs, faults or computes nonsense), hangs (50 of
# them) or faults (200) (default: everything).
# Ends with "N passed, N failed"; exit status 77 where there is no GPU.
set -u

build=$(realpath "${1:?usage: tests/gpu.sh BUILD [RESULTS]}")
source=$(realpath "$(dirname "$0")/..")
autotune=$build/autotune
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
results=${2:-$scratch/results}
mkdir -p "$results"
results=$(realpath "$results")
parts=${*:3}
export AUTOTUNE_CACHE=${AUTOTUNE_CACHE:-$scratch/cache}

if ! "$autotune" devices >"$scratch/devices" 2>"$scratch/devices.err"; then
    echo "skipped: $(cat "$scratch/devices.err")"
    exit 77
fi
head -n 1 "$scratch/devices"
arch=$(sed -n '1s/.*, \(sm_[0-9a-z]*\), .*/\1/p' "$scratch/devices")

passed=0
failed=0

# test_case NAME COMMAND…: the command must succeed; its output is shown where it does not.
test_case() {
    local name=$1
    local status=0
    shift
    "$@" >"$scratch/output" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok     $name"
        passed=$((passed + 1))
    elif [ "$status" -eq 77 ]; then
        echo "skipped $name"
    else
        echo "FAILED $name"
        sed 's/^/    /' "$scratch/output" | tail -n 40
        failed=$((failed + 1))
        return 1
    fi
}

# wanted PART
wanted() {
    [ -z "$parts" ] || [[ " $parts " == *" $1 "* ]]
}

# A sweep, never for longer than it may take; spinning kernels die with their worker.
sweep() {
    timeout 300 "$autotune" --config "$1" --results "$2" --tuned "$2/tuned.ini" "${@:3}"
}

shipped_sweep() {
    # where a sweep has been, all would be known: this one measures
    (cd "$source" && sweep configs/sweep.ini "$results" --remeasure --timings) \
        >"$scratch/sweep.out" 2>"$scratch/sweep.err"
    local status=$?
    cat "$scratch/sweep.out" "$scratch/sweep.err"
    return $status
}

second_run() {
    (cd "$source" && sweep configs/sweep.ini "$results") >"$scratch/second.out" 2>"$scratch/second.err"
    grep "nothing to do" "$scratch/second.err"
}

# Every variant is right, and every problem has a winner.
foreign_kernels() {
    sweep "$source/tests/foreign/sweep.ini" "$scratch/foreign" --format csv >"$scratch/foreign.csv" || return
    grep -E ',(wrong_result|invalid|fault|timeout|load_error|launch_error|compile_error),' "$scratch/foreign.csv" && return 1
    for kernel in transpose layer_norm rms_norm radix_sort lu stencil; do
        grep "^kernel = $kernel$" "$scratch/foreign/tuned.ini" || return
    done
}

# Of structs that a run cannot tell from the right ones before it launches them.
swapped_members() {
    mkdir -p "$scratch/swapped"
    cp "$source"/tests/foreign/layer_norm.* "$scratch/swapped" &&
        sed -i "/^\[launch/,/^\[expect/s/$1/" "$scratch/swapped/layer_norm.ini"
    ! timeout 60 "$autotune" run --template "$scratch/swapped/layer_norm.ini" >"$scratch/run" 2>&1 && cat "$scratch/run" &&
        grep "result   wrong_result" "$scratch/run"
}

# Every variant is right, and the tuples of the sweep are its only ones.
format_sweep() {
    "$autotune" check --compile --config "$source/tests/format/sweep.ini" &&
        sweep "$source/tests/format/sweep.ini" "$scratch/format" --format csv >"$scratch/format.csv" &&
        cat "$scratch/format.csv" && [ "$(grep -c ',measured,' "$scratch/format.csv")" -eq 6 ]
}

# run_template EXPECTED TEXT TEMPLATE [OPTION…]: `run` ends with that status, and says that
run_template() {
    local status=0
    timeout 60 "$autotune" run --template "$source/tests/$3.ini" "${@:4}" >"$scratch/run" 2>&1 || status=$?
    cat "$scratch/run"
    [ "$status" -eq "$1" ] && grep -F -- "$2" "$scratch/run"
}

# run_values EXPECTED TEXT [OPTION…]: the same of tests/format/values.ini
run_values() {
    run_template "$1" "$2" format/values "${@:3}"
}

# A variant that takes one step is right if one step is expected and wrong if more are, whatever ran before it.
steps_of_their_own() {
    local template=$source/tests/standin/templates/march.ini
    (cd "$scratch" && rm -rf steps && mkdir steps && cd steps &&
        "$autotune" tune --template "$template" --set steps=1,2,3 --set pad=0,32 --set mode=good,fixed,fault --set n=2^20 \
            --format csv) >"$scratch/steps.csv"
    cat "$scratch/steps.csv"
    [ "$(grep -c ',measured,' "$scratch/steps.csv")" -eq 8 ] && [ "$(grep -c ',wrong_result,' "$scratch/steps.csv")" -eq 4 ] &&
        [ "$(grep -c ',fault,' "$scratch/steps.csv")" -eq 6 ]
}

# A run of a variant that was compiled before takes less than a second.
run_is_quick() {
    local begin
    run_values 0 "result   correct" || return 1
    begin=$(date +%s%N)
    run_values 0 "result   correct" || return 1
    echo "$((($(date +%s%N) - begin) / 1000000)) ms"
    [ $((($(date +%s%N) - begin) / 1000000)) -lt 1000 ]
}

# format_keys NAME: every variant of the sweep tests/format_gpu/NAME.ini is measured
format_keys() {
    sweep "$source/tests/format_gpu/$1.ini" "$scratch/format_$1" --format csv >"$scratch/format_$1.csv" || return
    cat "$scratch/format_$1.csv"
    grep -q ',measured,' "$scratch/format_$1.csv" && ! grep -vE ',measured,|,duplicate,|,outcome,|^$' "$scratch/format_$1.csv"
}

static_figures() {
    (cd "$source" && sweep configs/sweep.ini "$scratch/static" --arch "$arch")
}

# planted NAME FOLDER: tests/planted/NAME.ini, which ends within its time; how long it took goes to FOLDER/ms
planted() {
    local begin status
    mkdir -p "$scratch/$2"
    begin=$(date +%s%N)
    sweep "$source/tests/planted/$1.ini" "$scratch/$2" --remeasure --timings
    status=$?
    echo $((($(date +%s%N) - begin) / 1000000)) >"$scratch/$2/ms"
    return $status
}

# outcomes FOLDER COUNT: of its COUNT planted variants, and of the good ones, which are those of the folder good
outcomes() {
    python3 "$source/tests/gpu/check.py" planted "$autotune" "$scratch/$1" "$scratch/good" "$2"
}

# The GPU that the sweeps use, which CUDA_VISIBLE_DEVICES may have chosen.
uuid=$("$autotune" devices 2>/dev/null | sed -n 's/^device 0: .*\(GPU-[0-9a-f-]*\).*/\1/p')

# gpu_memory: MiB in use; nothing where no program says so
gpu_memory() {
    nvidia-smi --id="$uuid" --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | grep -xE '[0-9]+'
}

# none_left: no process of this autotune is left within two seconds
none_left() {
    local left
    for _ in {1..40}; do
        left=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$autotune" 2>/dev/null)
        [ -z "$left" ] && return
        sleep 0.05
    done
    echo "processes left: $left"
    return 1
}

# memory_is_free: as much of the GPU's memory as before is in use, within two seconds; 64 MiB are for others' doings
memory_is_free() {
    local memory
    [ -n "$memory_before" ] || return 0
    for _ in {1..20}; do
        memory=$(gpu_memory)
        [ "${memory:-0}" -le $((memory_before + 64)) ] && return
        sleep 0.1
    done
    echo "$memory MiB of the GPU are in use, $memory_before were before"
    return 1
}

# gpu_is_clean FOLDER: after that sweep no process is left, the memory is free, and the good variants are tuned as before
gpu_is_clean() {
    none_left && memory_is_free && timeout 10 "$autotune" devices && planted good "after_$1" &&
        python3 "$source/tests/gpu/check.py" planted "$autotune" "$scratch/after_$1" "$scratch/good" 0
}

# planted_part NAME COUNT WHAT: a sweep with COUNT planted variants, how they end, and what they leave
planted_part() {
    test_case "$3: the sweep ends" planted "$1" "$1"
    if test_case "$3: each has its outcome, the good ones their times and their winner" outcomes "$1" "$2"; then
        cat "$scratch/output"
    fi
    echo "$(cat "$scratch/$1/ms") ms, and $(cat "$scratch/good/ms") ms without them"
    test_case "$3: the GPU is clean afterwards" gpu_is_clean "$1"
}

# repeated: the sweep of variants that are wrong later, and how they end
repeated() {
    planted repeat repeat && python3 "$source/tests/gpu/check.py" repeat "$autotune" "$scratch/repeat"
}

# The Python package, of a wheel in BUILD or else of the build
python_package() {
    local wheel
    wheel=$(find "$build" -maxdepth 1 -name 'autotune_cuda-*.whl' | head -n 1)
    if [ -n "$wheel" ]; then
        python3 -m pip install --quiet --no-index --no-deps --target "$scratch/site" "$wheel" || return
        PYTHONPATH=$scratch/site python3 "$source/tests/gpu/python.py" "$results/python.txt"
    else
        PATH=$build:$PATH PYTHONPATH=$source/tuner/python LD_LIBRARY_PATH=$build/tuner/library:${LD_LIBRARY_PATH:-} \
            python3 -B "$source/tests/gpu/python.py" "$results/python.txt"
    fi
}

if wanted sweep; then
    test_case "the shipped sweep ends with status 0" shipped_sweep
    cat "$scratch/sweep.out" "$scratch/sweep.err"
    test_case "every variant has one outcome, barrier=none is wrong, every problem has a winner" \
        python3 "$source/tests/gpu/check.py" outcomes "$autotune" "$results"
    test_case "short variants are measured in batches" \
        python3 "$source/tests/gpu/check.py" batches "$autotune" "$results"
    test_case "a second run has nothing to do" second_run
    test_case "static figures of the same sweep" static_figures
    test_case "occupancy agrees with the driver for every variant" \
        python3 "$source/tests/gpu/check.py" occupancy "$autotune" "$results" "$scratch/static"
fi
if wanted foreign; then
    test_case "foreign kernels are tuned: one launch, loops of several, buffers that swap" foreign_kernels
    test_case "outputs in a struct, swapped" swapped_members "mean, rstd,/rstd, mean,"
    test_case "inputs in a struct, swapped" swapped_members "weight, \\(([^)]*)\\)/\\1, weight"
    test_case "buffers in structs, swapped each step" run_template 0 "result   correct" standin/templates/members
    test_case "… beyond their ends" run_template 1 "outside buffer" standin/templates/members --set mode=overrun
    test_case "buffers' addresses in constant memory" run_template 0 "result   correct" standin/templates/constants
fi
if wanted format; then
    test_case "structs, conditions, own macros, tuples, normal numbers, NaN: compiled, checked and tuned" format_sweep
    test_case "run: one variant is right, in less than a second" run_is_quick
    test_case "run: the element that was not written" run_values 1 "not written" --set defect=last
    test_case "what a template can ask of the GPU alone, C++ names and linked units" format_keys sweep
    test_case "variables of the source, textures, tensor maps, arrays of pointers, results that depend on parameters" \
        format_keys standin
    test_case "each variant has its own expected result, also after crashes" steps_of_their_own
    test_case "run: what a verifier counts" run_template 1 "verifier 'stencil_count' counts 262144 wrong elements of out" \
        format_gpu/stencil --set steps=3 --set strict=yes
fi
if wanted downstream; then
    test_case "an application with a bundle and no compiler sums right, as fast as the tuner said" \
        "$source/tests/downstream/test.sh" "$build" gpu "$results"
    cat "$scratch/output"
fi
if wanted examples; then
    test_case "the applications in tests/examples compute what they should" "$source/tests/examples/test.sh" "$build" gpu
    cat "$scratch/output"
fi
if wanted python; then
    if python3 -c 'import cupy, torch' 2>/dev/null; then
        test_case "Python: right with CuPy, PyTorch and others; look-ups and launches are quick" python_package
        cat "$scratch/output"
    else
        echo "skipped: Python: no CuPy and PyTorch here"
    fi
fi
if wanted repeat; then
    for run in {1..10}; do
        test_case "what is wrong later or on other data does not win, run $run" repeated
        grep ' n=[0-9]*: ' "$scratch/output"
    done
fi
if wanted planted || wanted hangs || wanted faults; then
    memory_before=$(gpu_memory)
    test_case "good variants alone are tuned" planted good good
fi
if wanted planted; then
    planted_part every 12 "one of every fault"
fi
if wanted hangs; then
    planted_part hangs 50 "50 that never end"
fi
if wanted faults; then
    planted_part faults 200 "200 that fault"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
