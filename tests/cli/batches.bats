#!/usr/bin/env bats
# Variants below 10 us are measured in batches, CUDA graphs of 32 runs. In the stand-in's graphs a run takes 1.2 us less
# than one from the host, and an empty kernel 1.3 us.
shared_cubins=yes
load helper

# of a CSV: smallest value of a column
smallest() {
    column "$1" | grep . | sort -g | head -n 1
}

# calls NAME: how often the stand-in was asked for it
calls() {
    grep -cE " $1( |$)" calls || true
}

@test "a short variant's figure is that of a run in a batch, and it is said how it came to be" {
    stand_in noise=0 base_ns=4000 "log = $scratch/calls"
    expect 0 --config "$sweeps/scale.ini" --format csv
    # 4 us and 33 ns for the elements, less 1.2 us
    equal "$(smallest median_us | cut -c 1-4)" 2.83
    equal "$(count runs 32)" 9
    equal "$(column empty_us | sort -u | cut -c 1-3)" 1.3
    [ "$(calls cuGraphLaunch)" -gt 30 ]
    has results/tuned.ini "runs = 32" "empty_kernel_ns = 13"
    equal "$(sed -n 's/^median_ns = \(....\).*/\1/p' results/tuned.ini)" 2832
    # again from the record
    autotune report
    has out "Each sample is the mean of a batch of 32 runs; in a batch, an empty kernel takes 1.3" "empty kernel 2.496 us"
    autotune report --format json
    has out '"runs": 32' '"empty_batch_ns": 13'
    autotune report --format html --output page.html
    has page.html "Each sample is the mean of a batch of 32 runs"
    autotune report --format t4
    has out runs_per_sample
}

@test "from 10 us on single runs are the figure, as ever" {
    stand_in "log = $scratch/calls" base_ns=12000
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(count runs 1)" 9
    equal "$(calls cuGraphLaunch)" 0
    lacks results/tuned.ini runs
    autotune report
    lacks out batch
}

@test "who could be compared with a batched variant is batched, too; who is twice as slow need not be" {
    # the best is below 10 us, the worst above 20
    stand_in noise=0 base_ns=9000 steepness=0.2
    expect 0 --config "$sweeps/scale.ini" --format csv
    paste -d' ' <(column runs) <(column median_us) >figures
    equal "$(awk '$1 == 32' figures | wc -l) $(awk '$1 == 1' figures | wc -l)" "3 6"
    equal "$(awk '$1 == 32 && $2 >= 18.8 || $1 == 1 && $2 < 20' figures)" ""
    [ "$(awk '$1 == 32 && $2 > 10' figures | wc -l)" -ge 1 ] # sampled singly at first
    equal "$(paste -d' ' <(column winner) <(column runs) | grep ^1)" "1 32"
    autotune report
    has out "a batch of 32 runs, except that 6 variants were measured in single runs"
}

@test "launches of several kernels, cooperative ones and scratch buffers go into batches" {
    stand_in base_ns=1500
    for kernel in sum rounds tile; do
        expect 0 --config "$sweeps/shapes.ini" --kernel $kernel --format csv
        equal "$kernel $(column outcome | sort -u) $(column runs | sort -u)" "$kernel measured 32"
    done
}

@test "read_write buffers are restored before each batch, for every run of it; with a warm cache there is none" {
    printf '[tree]\nblock_size = 128\ncache = cold\n' | sweep
    stand_in base_ns=100 steepness=0 element_ns=0 "log = $scratch/calls"
    expect 0 --config sweep.ini --format csv
    equal "$(column outcome) $(column runs)" "measured 32"
    batches=$(calls cuGraphLaunch)
    [ "$(calls cuMemcpyDtoDAsync)" -ge $((32 * (batches - 15))) ] # but for the 15 of an empty kernel
    printf '[tree]\nblock_size = 128\ncache = warm\n' | sweep
    autotune --config sweep.ini --results warm --format csv
    equal "$(column outcome) $(column runs)" "measured 1"
}

@test "a warm cache: all runs share their buffers" {
    printf '[scale]\nn = 2^14\nblock_size = 256, 512\ncache = warm\n' | sweep
    stand_in base_ns=4000
    expect 0 --config sweep.ini --format csv
    equal "$(count runs 32)" 2
}

@test "where no graph can be made, or memory is short, single runs are the figure" {
    stand_in base_ns=4000 "fault = cuGraphInstantiateWithFlags:*:CUDA_ERROR_NOT_SUPPORTED"
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(count runs 1)" 9
    stand_in base_ns=4000 "fault = cuGraphLaunch:*:CUDA_ERROR_OUT_OF_MEMORY"
    expect 0 --config "$sweeps/scale.ini" --format csv --remeasure
    equal "$(count runs 1) $(count outcome measured)" "9 9"
    stand_in base_ns=4000 memory_bytes=147500000
    expect 0 --config "$sweeps/scale.ini" --format csv --remeasure
    equal "$(count runs 1)" 9
}

@test "where some cannot be batched, nobody in the finals is" {
    # of the screening's ten graphs (one is of an empty kernel) none fails, of the finals' all
    stand_in base_ns=4000 "fault = cuGraphInstantiateWithFlags:11+:CUDA_ERROR_OUT_OF_MEMORY"
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(paste -d' ' <(column winner) <(column runs) | grep ^1)" "1 1"
}

@test "a variant that faults in a batch is a fault" {
    stand_in base_ns=4000 "fault = cuGraphLaunch:20:CUDA_ERROR_ILLEGAL_ADDRESS"
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(count outcome fault) $(count outcome measured)" "1 8"
}

@test "who cannot have copies of the inputs leaves none behind that others are blamed for" {
    for at in 165 205 245; do
        stand_in base_ns=3000 "fault=cuMemcpyDtoDAsync:$at:CUDA_ERROR_INVALID_VALUE"
        printf '%s\n' "[sweep]" "templates = $sweeps/templates" "[larger]" "block_size = 128, 256, 512" >sweep.ini
        rm -rf results
        expect 0 --config sweep.ini --format csv
        equal "$(column outcome | sort | tr '\n' ' ')" "launch_error measured measured "
    done
}

@test "a short variant has all its batches, whatever its first sample was" {
    # single runs take up to three times as long as the best one's, but less than 10 us
    stand_in noise=0 base_ns=3000 steepness=0.05
    expect 0 --config "$sweeps/scale.ini" --format csv
    equal "$(count runs 32)" 9
    equal "$(count samples 1)" 0
}

@test "a long kernel's hopeless variants are measured by the run that verifies them, and have no interval" {
    local cache waits=()
    # the first trial takes a while, so that the others wait behind one
    for cache in cold warm; do
        stand_in noise=0 base_ns=200000 steepness=0.5 "fault = cuModuleLoadData:3:sleep300" "log = $scratch/$cache.calls"
        sed "s,^templates = .*,templates = $sweeps/templates,; s/^\[scale\]/&\ncache = $cache/" "$sweeps/scale.ini" >long.ini
        expect 0 --config long.ini --results "$cache" --tuned "$cache.ini" --format csv
        equal "$(paste -d, <(column samples) <(column low_us) <(column high_us) <(column relative_iqr) | grep -c '^1,,,$')" \
            "$(count samples 1)"
        [ "$(count samples 1)" -ge 1 ]
        waits+=("$(grep -c cuStreamSynchronize "$cache.calls")")
    done
    # of a warm cache a first run says nothing
    [ "${waits[0]}" -lt "${waits[1]}" ]
    autotune report --results cold --top 9
    grep -qE "^ +4201 +- " out
    autotune report --results cold --format json
    has out '"low_ns": null'
}
