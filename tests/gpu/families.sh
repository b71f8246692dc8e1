#!/usr/bin/env bash
# The shipped kernels on the GPU of the machine it stands on:
#     tests/gpu/families.sh BUILD [RESULTS [PART…]]
# BUILD is a build folder. RESULTS gets the families' tuned.ini, the ladder's, the tables, and in <gpu>/ the pages
# of the kernels, whose rooflines are measured first (default: a folder that is removed again). PART is
# families, edges, wrong or sanitizer, or the name of one family or of one sanitizer (default: everything).
# Ends with "N passed, N failed"; exit status 77 where there is no GPU.
set -u

build=$(realpath "${1:?usage: tests/gpu/families.sh BUILD [RESULTS [PART…]]}")
source=$(realpath "$(dirname "$0")/../..")
autotune=$build/autotune
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
results=${2:-$scratch/results}
parts=${*:3}
mkdir -p "$results"
results=$(realpath "$results")
export AUTOTUNE_CACHE=${AUTOTUNE_CACHE:-$scratch/cache}

if ! "$autotune" devices >"$scratch/devices" 2>"$scratch/devices.err"; then
    echo "skipped: $(cat "$scratch/devices.err")"
    exit 77
fi
head -n 1 "$scratch/devices"

passed=0
failed=0

# test_case NAME COMMAND…: the command must succeed; its output is shown where it does not.
test_case() {
    local name=$1
    local begin=$SECONDS
    shift
    if "$@" >"$scratch/output" 2>&1; then
        echo "ok     $name ($((SECONDS - begin)) s)"
        passed=$((passed + 1))
    else
        echo "FAILED $name ($((SECONDS - begin)) s)"
        sed 's/^/    /' "$scratch/output" | tail -n 40
        failed=$((failed + 1))
    fi
}

# wanted PART [NAME]
wanted() {
    [ -z "$parts" ] || [[ " $parts " == *" $1 "* ]] || [[ " $parts " == *" ${2:-$1} "* ]]
}

# sweep CONFIG FOLDER TUNED: what the reports say goes to FOLDER/table.txt. A sweep some of whose kernels
# have no valid variant, like those that must be wrong, ends with status 0 or 1; what counts is the outcomes.
# Runs in the project's folder, so that the tuned INI names shipped sweeps as others would call them.
sweep() {
    mkdir -p "$2"
    cd "$source" || return
    timeout 300 "$autotune" --config "${1#"$source"/}" --results "$2" --tuned "$3" --remeasure --quiet --top 5 >"$2/table.txt"
    [ $? -le 1 ] && python3 "$source/tests/gpu/families.py" "$autotune" "$2"
}

pages() {
    "$source/tests/gpu/pages.sh" "$build" "$results" "$1"
}

# The record with the GPU's roofs, with which every family's begins, so that its pages have them.
roofs() {
    sweep "$source/configs/roofs.ini" "$results/roofs" "$results/roofs/roofs.ini" && pages roofs
}

begin_with_roofs() {
    if [ ! -e "$results/roofs/record.sqlite" ]; then
        roofs || return
    fi
    mkdir -p "$results/$1"
    rm -f "$results/$1"/record.sqlite*
    cp "$results"/roofs/record.sqlite* "$results/$1/"
}

family() {
    begin_with_roofs "$1" && sweep "$source/configs/$1.ini" "$results/$1" "$results/tuned.ini" && pages "$1"
}

ladder() {
    begin_with_roofs published_ladder &&
        sweep "$source/configs/published_ladder.ini" "$results/published_ladder" "$results/published_ladder.ini" &&
        pages published_ladder
}

edges() {
    sweep "$source/configs/edge_sizes.ini" "$results/edge_sizes" "$scratch/edge_sizes.ini"
}

write_wrong_sweep() {
    cat <<END
[sweep]
templates = $source/kernel_templates
[atomics]
value_type = int32, float
method = racy
[grid_barrier]
test = latency, stamps, total
barrier = none
END
}

# The two kernels that are wrong on purpose: fails unless verification catches all of them every time.
always_wrong() {
    write_wrong_sweep >"$scratch/wrong.ini"
    for run in {1..20}; do
        if ! sweep "$scratch/wrong.ini" "$scratch/wrong" "$scratch/wrong_tuned.ini"; then
            echo "in run $run of 20"
            return 1
        fi
    done
}

# One variant of each correct member of each family, at sizes that a sanitizer gets through.
write_small_sweep() {
    cat <<END
[sweep]
templates = $source/kernel_templates
launch_timeout_s = 60
[sum]
template = reduce_sum
n = 5003
load = cached, once, bulk
finish = two_pass, atomic, last_block, gather, grid_barrier
cache = warm
[sum_chunked]
template = reduce_sum
n = 5003
value_type = half, bfloat16, double
vector_width = 8
order = chunked
finish = last_block, gather
cache = warm
[sum_prefetch]
template = reduce_sum
n = 5003
finish = gather
prefetch = 1
cache = warm
[operations]
template = reduce_operator
n = 5003
value_type = int32
operation = min, max, product, bit_xor
finish = last_block
cache = warm
[ladder]
template = reduce_ladder
n = 5003
scheme = naive, divergent, interleaved, sequential, shuffle
cache = warm
[grid_barrier]
test = stamps, total
rounds = 3
n = 4096
barrier = lock, lock_free, lock_free_parallel, gather, sense, tree, cluster, cooperative
[grid_barrier_waits]
template = grid_barrier
test = stamps
rounds = 3
barrier = lock
arrive = silent
poll = relaxed, overlapped
[barrier]
test = stamps
rounds = 3
grid_size = 64, 264
threads_per_block = 64, 96
barrier = lock, lock_free_parallel, gather, sense, tree, cluster
[atomics]
n = 5003
method = atomic, cas, thread_local, warp_aggregated, block_aggregated
cache = warm
[histogram]
n = 5003
addresses = 100
operation = sum
order = sorted
method = global, shared
aggregate = none, runs
copies = 2
cache = warm
[atomic_operations]
atomic = add, sub, bit_and, bit_or, bit_xor, max, min, exch, cas
n = 2048
[filter]
n = 5003
method = atomic, warp_aggregated, block_aggregated
cache = warm
[filter_ordered]
n = 5003
cache = warm
[filter_streamed]
template = filter
n = 40004
block_size = 64
method = streamed
cache = warm
[filter_ordered_streamed]
template = filter_ordered
n = 40004
block_size = 64
method = ordered_streamed
cache = warm
[lock]
n = 1024
method = block_mutex, thread_mutex, spin_mutex, ticket, atomic, ballot
[sgemm]
m = 100
n = 70
k = 50
method = naive, tiled
cache = warm
[sgemm_overlapped]
template = sgemm
m = 100
(n, k) = (70, 50), (72, 68)
method = overlapped
order = squares
lanes_n = 2
group_m = 2
cache = warm
[sgemm_overlapped_split]
template = sgemm
m = 100
(n, k) = (70, 50), (72, 68)
method = overlapped_split
order = squares
lanes_n = 2
split_k = 0, 2, 3
group_m = 2
cache = warm
[sgemm_pipelined]
template = sgemm
m = 100
(n, k) = (70, 50), (72, 68)
method = pipelined
order = squares
stages = 2, 3
split_k = 0, 1, 2
group_m = 2
cache = warm
[sgemm_streamed]
template = sgemm
m = 100
n = 70
k = 50
method = streamed
stages = 2, 3
split_waves = 1
group_m = 2
cache = warm
[gemm_tensor]
(m, n, k) = (100, 72, 88)
method = mma, wgmma
stages = 2
resident = 0, 1
cache = warm
[softmax]
(rows, columns) = (3, 1003)
method = reread, split
cache = warm
[softmax_registers]
template = softmax
(rows, columns) = (5, 1000)
method = registers
block_size = 64
vector_width = 4
(row_threads, loads, cluster) = (32, 8, 1), (64, 4, 1), (64, 2, 2)
load = once, bulk
reduction = two_steps, one_step
cache = warm
[convolution]
width = 100
height = 37
tile_x = 2
tile_y = 2
filter_from = global, shared
padding = 1
cache = warm
[thread_order]
unit = thread, warp, block
n = 2048
[roof_copy]
n = 5003
traffic = copy, read
cache = warm
[roof_fma]
steps = 8
END
}

# A kernel with one fault for each of the tools.
write_faulty_kernel() {
    cat >"$1/faulty.cu" <<END
#define FAULT_MEMCHECK 0
#define FAULT_RACECHECK 1
#define FAULT_SYNCCHECK 2
#ifndef FAULT
#define FAULT FAULT_MEMCHECK
#endif
extern "C" __global__ void faulty(int *out)
{
    __shared__ int shared[64];
#if FAULT == FAULT_MEMCHECK
    shared[threadIdx.x] = *(volatile int *)16;
#elif FAULT == FAULT_RACECHECK
    shared[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = ((volatile int *)shared)[63 - threadIdx.x];
#else
    if (threadIdx.x % 2 == 0) {
        __syncthreads();
    }
#endif
    out[threadIdx.x] = shared[threadIdx.x];
}
END
    cat >"$1/faulty.ini" <<END
[parameters]
fault = memcheck | racecheck | synccheck
[buffer.out]
type = int32
length = 64
access = write
[launch.faulty]
entry = faulty
grid = 1
block = 64
arguments = out
[expect.out]
reference = constant(0)
compare = exact
END
    printf '[sweep]\nlaunch_timeout_s = 20\n[faulty]\nfault = %s\n' "$2" >"$1/sweep.ini"
}

# sanitized TOOL CONFIG FOLDER: a sweep whose device worker runs under compute-sanitizer's TOOL. One round of finals, because
# under racecheck a barrier of all blocks takes 10 ms.
sanitized() {
    timeout 280 compute-sanitizer --tool "$1" --target-processes all "$autotune" --config "$2" --results "$3" \
        --tuned "$3/tuned.ini" --exhaustive 1 --quiet --timings --top 1 >"$3/log" 2>&1
    [ $? -le 1 ] && grep -q SUMMARY "$3/log"
}

# sanitizer_sees TOOL: a fault in a kernel of a sweep is found, so nothing found means something.
sanitizer_sees() {
    local folder=$scratch/faulty_$1
    mkdir -p "$folder"
    write_faulty_kernel "$folder" "$1"
    sanitized "$1" "$folder/sweep.ini" "$folder"
    tail -n 30 "$folder/log"
    grep -qE 'SUMMARY: [1-9]' "$folder/log"
}

# sanitizer TOOL: finds nothing in the shipped kernels.
sanitizer() {
    local folder=$scratch/$1
    mkdir -p "$folder"
    write_small_sweep >"$scratch/small.ini"
    if ! sanitized "$1" "$scratch/small.ini" "$folder"; then
        tail -n 30 "$folder/log"
        return 1
    fi
    grep -E '^=========' "$folder/log" | tail -n 30
    if grep -E 'SUMMARY: [1-9]|SUMMARY: 0 hazards displayed \([1-9]' "$folder/log"; then
        return 1
    fi
    python3 "$source/tests/gpu/families.py" "$autotune" "$folder"
}

if wanted families roofs; then
    test_case "every variant of configs/roofs.ini ends as it must" roofs
fi
for config in reduce grid_barrier atomics filter lock sgemm gemm_tensor softmax thread_order; do
    if wanted families "$config"; then
        test_case "every variant of configs/$config.ini ends as it must" family "$config"
    fi
done
if wanted families published_ladder; then
    test_case "every rung of configs/published_ladder.ini ends as it must" ladder
fi
if wanted edges; then
    test_case "sizes from 0 to more than 2^32 bytes" edges
fi
if wanted wrong; then
    test_case "the wrong kernels are caught in 20 runs of 20" always_wrong
fi
for tool in memcheck racecheck synccheck; do
    if wanted sanitizer "$tool"; then
        test_case "$tool finds a fault that is there" sanitizer_sees "$tool"
        test_case "$tool finds nothing in the shipped kernels" sanitizer "$tool"
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
