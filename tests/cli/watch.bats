#!/usr/bin/env bats
# What NVML says of the GPU while samples are taken: lowered clocks, other processes.
shared_cubins=yes
load helper

tune() {
    expect 0 --config "$sweeps/scale.ini" "$@"
}

@test "the report states the clock, and that nothing disturbed" {
    stand_in sm_clock_mhz=1755
    tune
    has out "The mean SM clock was 1755 MHz. No throttling was detected. No other process used the GPU."
    # again from the record, where nothing is measured
    tune
    has err "nothing to do"
    has out "SM clock was 1755 MHz"
    autotune report
    has out "SM clock was 1755 MHz"
    autotune report --format csv
    equal "$(paste -d' ' <(column sm_clock_mhz) <(column dropped_samples) <(column throttled_samples) <(column other_processes) |
        sort -u)" "1755 0 0 0"
    autotune report --format html --output page.html
    has page.html "The mean SM clock was 1755 MHz. No throttling was detected. No other process used the GPU."
    autotune report --format t4
    has out '"watched":{"sm_clock_mhz":1755'
    has results/tuned.ini "sm_clock_mhz = 1755"
}

@test "samples taken under throttling are dropped, counted and taken again" {
    stand_in throttled_readings=3
    tune --format json
    mv out disturbed
    [ "$(grep -c '"outcome": "measured"' disturbed)" -eq 9 ]
    [ "$(sed -n 's/^ *"dropped_samples": \([0-9]*\),/\1/p' disturbed)" -ge 3 ]
    [ "$(sed -n 's/^dropped_samples = //p' results/tuned.ini)" -ge 3 ]
    has disturbed '"throttled_samples": 0' '"sm_clock_mhz": 1980.0' '"other_processes": 0'
    # each finalist that is in has one sample a round all the same: none was lost, none is there twice
    stand_in
    tune --remeasure --format csv
    [ "$(paste -d' ' <(column tied) <(column samples) | grep ^1 | sort -u | wc -l)" -eq 1 ]
    stand_in throttled_readings=3
    tune --remeasure --format csv
    [ "$(paste -d' ' <(column tied) <(column samples) | grep ^1 | sort -u | wc -l)" -eq 1 ]
    [ "$(column dropped_samples | sort -u)" -ge 3 ]
    autotune report
    has out "were replaced and 0 kept"
}

@test "throttling without an end: samples are kept after some attempts, and the report says so" {
    stand_in throttle=1:1:1.2
    tune
    has out "Of the samples taken while the GPU was throttled"
    lacks out " 0 were replaced" " 0 kept"
    [ -s results/tuned.ini ]
}

@test "clocks that someone set, or an idle GPU, are no throttling" {
    stand_in throttled_readings=1000 throttle_reasons=0x3
    tune
    has out "No throttling was detected"
}

@test "other processes on the GPU are reported; those of the run are not" {
    stand_in processes=1
    tune
    has out "1 other process used the GPU"
    stand_in processes=1:$$:4194304 # none has the last: it has ended
    tune --remeasure
    has out "2 other processes used the GPU"
    # in a container, the list has other numbers
    stand_in pid_offset=100000
    tune --remeasure
    has out "No other process used the GPU"
    stand_in processes=1 pid_offset=100000
    tune --remeasure
    has out "1 other process used the GPU"
}

@test "without NVML everything works, and it is said once" {
    mkdir lib
    cp "$BUILD_DIR/tests/standin/libcuda.so.1" lib
    export LD_LIBRARY_PATH=$scratch/lib
    expect 0 --config "$sweeps/shapes.ini"
    has err "NVML not found"
    equal "$(grep -c "cannot detect throttling" err)" 1
    lacks out "SM clock"
    tune --quiet
    equal "$(cat err)" ""
    autotune report --format json
    has out '"watched": null'
}

@test "NVML that does not start is no failure either" {
    stand_in nvml=0
    tune
    has err "nvmlInit failed: Driver Not Loaded"
}
