#!/usr/bin/env bats
# Clusters, programmatic launches and the other attributes of a launch: they reach the driver, from single launches and
# from batches, and what the GPU cannot do is said. The stand-in notes them in its log.
shared_cubins=yes
load helper

# twice LINE…: a template `own` that scales in two launches; the lines are the second one's
twice() {
    {
        cat <<'INI'
[kernel]
source = own.cu
; whether or not a line names it
constraint = blocks > 0 or scheduling == "default"
[parameters]
block_size = 256
num_load = 1
mode = good | broken
[launch_parameters]
blocks = 1
scheduling = default | spread | load_balancing
percent = -1
[problem]
n = 2^14
[buffer.in]
type = float
length = n
access = read
fill = uniform(-1, 1)
[buffer.between]
type = float
length = n
access = scratch
[buffer.out]
type = float
length = n
access = write
[launch.first]
entry = scale_good
grid = 64
block = block_size
arguments = in, between, float 2, uint64 n
[launch.second]
entry = scale_good
grid = 64
block = block_size
arguments = between, out, float 3, uint64 n
INI
        printf '%s\n' "$@"
        cat <<'INI'
[expect.out]
reference = scale_reference
arguments = in, reference, float 6, uint64 n
compare = relative(1e-6)
INI
    } | template own
    printf '[sweep]\ntuned = t.ini\nresults = r\n[own]\n' >sweep.ini
}

# noted TEXT: how often the stand-in was asked for that
noted() {
    grep -cE "^[0-9]+ $1$" calls || true
}

@test "a cluster's dimensions are those of the expression, in single launches and in batches" {
    for ns in 4000 20000; do
        rm -rf calls r t.ini
        stand_in base_ns=$ns "log = $scratch/calls"
        twice "cluster = blocks, 1, 1"
        echo "blocks = 1, 2, 16" >>sweep.ini
        measures 3 --config sweep.ini
        [ "$(noted 'cluster 2 1 1')" -gt 10 ]
        [ "$(noted 'cluster 16 1 1')" -gt 10 ] # which the driver must be asked to allow
        equal "$(noted 'cluster 1 1 1')" 0
    done
    equal "$(count runs 1)" 3
}

@test "programmatic launches, the scheduling of clusters and the carve-out reach the driver" {
    stand_in "log = $scratch/calls"
    twice "programmatic = yes" "cluster_scheduling = scheduling" "cluster = 2" "shared_carveout = percent"
    printf '%s\n' "scheduling = default, spread, load_balancing" "percent = -1, 50" >>sweep.ini
    measures 6 --config sweep.ini
    for text in "programmatic 1" "scheduling 1" "scheduling 2" "carveout 50"; do
        [ "$(noted "$text")" -gt 0 ]
    done
    equal "$(noted "scheduling 0")" 0
    # a plain word needs no quotes
    twice "cluster_scheduling = spread"
    expect 0 check --config sweep.ini
}

@test "the first launch of a run is never programmatic: it would overlap with the run before" {
    stand_in "log = $scratch/calls"
    twice
    sed -i '/^entry/a programmatic = yes' own.ini
    expect 0 --config sweep.ini
    [ "$(noted "programmatic 1")" -gt 0 ]
    equal "$(noted cuLaunchKernelEx)" "$(noted "programmatic 1")"
    [ "$(noted cuLaunchKernel)" -gt "$(noted cuLaunchKernelEx)" ]
}

@test "an architecture below 9.0 has no clusters, and that is said; other variants go on" {
    twice "cluster = blocks"
    echo "blocks = 1, 2" >>sweep.ini
    expect 0 --config sweep.ini --arch sm_86 --format csv
    equal "$(rows blocks outcome)" "1:compiled 2:invalid "
    reasons "clusters need compute capability 9.0 or newer; this GPU has 8.6"
    for line in "programmatic = yes" "cluster_scheduling = spread"; do
        twice "$line"
        autotune --config sweep.ini --arch sm_86 --format csv
        reasons "${line%% *}" "compute capability 9.0 or newer; this GPU has 8.6"
    done
}

@test "a grid that is not of whole clusters, and values that cannot be, are refused with the expression" {
    while IFS='|' read -r line message; do
        twice "$line"
        expect 1 --config sweep.ini --format csv
        equal "$(column outcome)" invalid
        reasons "$message"
    done <<'END'
cluster = 3|the grid of launch 'second', 64 blocks, is not a multiple of its cluster
cluster = 2, 2|the grid of launch 'second', 1 blocks, is not a multiple of its cluster
cluster = blocks - 1|cluster of launch 'second' would be 0
shared_carveout = 101|shared_carveout must be 0 to 100
cluster_scheduling = "even"|cluster_scheduling must be default, spread or load_balancing
END
    twice "cluster = 1, 1, 1, 1"
    expect 2 check --config sweep.ini
    has err "'cluster' takes 1 to 3 expressions"
}

@test "blocks that must all be resident are counted in clusters, as the driver says" {
    # 32 SMs in groups of 16 hold two blocks of 1024 threads each: 64, but only 4 clusters of 12
    stand_in sm_count=32
    for key in co_resident cooperative; do
        twice "cluster = 12" "$key = yes"
        sed -i 's/^block_size = .*/block_size = 1024/' own.ini
        sed -i "/^\[launch.second/,/^\[expect/s/^grid = .*/grid = 12 * blocks/" own.ini
        echo "blocks = 4, 5" >>sweep.ini
        expect 0 --config sweep.ini --format csv
        equal "$(rows blocks outcome)" "4:measured 5:not_resident "
        reasons "launch 'second' has 5 clusters of 12 blocks, but the GPU holds 4 at once"
        rm -r r t.ini
    done
    twice "co_resident = yes" # in clusters of which the template says nothing
    sed -i 's/^block_size = .*/block_size = 1024/' own.ini
    sed -i "s/^grid = .*/grid = 7 * blocks/" own.ini
    sed -i 's/__launch_bounds__(BLOCK_SIZE)/__cluster_dims__(7) &/' own.cu
    echo "blocks = 8, 9" >>sweep.ini
    expect 0 --config sweep.ini --format csv
    equal "$(rows blocks outcome)" "8:measured 9:not_resident "
    reasons "launch 'second' has 9 clusters of 7 blocks, but the GPU holds 8 at once"
}
