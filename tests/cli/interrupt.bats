#!/usr/bin/env bats
# Interrupted runs keep what was measured, and go on from there.
shared_cubins=yes
load helper

# launched N: waits until the stand-in has logged N launches
launched() {
    local i count
    for i in $(seq 600); do
        count=$(grep -c cuLaunchKernel calls 2>/dev/null) || true
        [ "${count:-0}" -ge "$1" ] && return
        sleep 0.02
    done
    echo "never launched"
    tail out err
    return 1
}

# stuck: waits until the fault planted by `stand_in_that_hangs` has the run where the test wants it
stuck() {
    await ' hang' calls
}

# The eighth module never loads, so that an interruption comes in the middle however fast the machine is.
stand_in_that_hangs() {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:8:hang"
}

# times: "MEDIAN BLOCK_SIZE NUM_LOAD" of what was measured, the slowest last
times() {
    paste -d' ' <(column median_us) <(column block_size) <(column num_load) | grep '^[0-9]' | sort -g
}

@test "Ctrl-C: exit 130, workers gone, and how to go on" {
    rm -rf cache # compile workers work, too
    stand_in_that_hangs
    interrupt --config "$sweeps/many.ini" --jobs 1
    none_alive
    grep -qiE 'again|resume|go on|continue' err
    expect 0 report # does not know yet what an empty kernel takes
    has out "not complete: run the same command again"
    lacks out "empty kernel"
}

@test "the next run resumes: what was measured is not measured again" {
    stand_in_that_hangs
    interrupt --config "$sweeps/many.ini" --jobs 1
    expect 0 report --format csv
    before=$(count outcome measured)
    [ "$before" -ge 1 ]
    [ "$before" -lt 20 ]
    slowest=$(times | tail -n 1) # no finalist, which would be measured again

    measures 20 --config "$sweeps/many.ini"
    times | grep -qxF "$slowest"
    has results/tuned.ini "parameter.block_size = 256" "parameter.num_load = 1"
}

@test "an interrupted run has seen a fair sample of the space, not its first corner" {
    rm -rf cache # what is there is measured first
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:20:hang"
    printf '[scale]\nn = 2^14\nblock_size = 64..640 step 64\nnum_load = 1..6\n' | sweep
    interrupt --config sweep.ini --jobs 1
    autotune report --format csv
    [ "$(count outcome measured)" -lt 20 ]
    [ "$(times | cut -d' ' -f2 | sort -u | wc -l)" -ge 7 ] # of 10 block sizes
    [ "$(times | cut -d' ' -f3 | sort -u | wc -l)" -eq 6 ]
}

@test "an interrupted run puts the best so far into the tuned INI, marked as incomplete until it is complete" {
    stand_in_that_hangs
    interrupt --config "$sweeps/many.ini" --jobs 1
    has err "the best so far" "results/tuned.ini" "incomplete"
    has results/tuned.ini "incomplete = yes" "parameter.block_size"
    autotune report --format csv
    equal "$(times | head -n 1 | cut -d' ' -f2-)" \
        "$(sed -n 's/^parameter\.\(block_size\|num_load\) = //p' results/tuned.ini | tr '\n' ' ' | sed 's/ $//')"
    expect 0 explain -k scale -g "Stand-in H200" --n 16384
    has out "tuning was interrupted"
    stand_in
    expect 0 --config "$sweeps/many.ini"
    lacks results/tuned.ini incomplete
    autotune explain -k scale -g "Stand-in H200" --n 16384
    lacks out "tuning was interrupted"
}

@test "an interrupted run does not replace what a complete one found" {
    stand_in
    expect 0 --config "$sweeps/many.ini"
    cp results/tuned.ini before
    stand_in_that_hangs
    interrupt --config "$sweeps/many.ini" --jobs 1 --remeasure
    cmp before results/tuned.ini
    lacks err "the best so far"
}

@test "an interrupted run that had measured nothing writes no tuned INI" {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:1:hang"
    interrupt --config "$sweeps/many.ini" --jobs 1
    [ ! -e results/tuned.ini ]
}

@test "an undisturbed run and one that was interrupted find the same" {
    expect 0 --config "$sweeps/many.ini" --results undisturbed --tuned undisturbed.ini
    stand_in_that_hangs
    interrupt --config "$sweeps/many.ini"
    expect 0 --config "$sweeps/many.ini"
    equal "$(grep ^parameter results/tuned.ini)" "$(grep ^parameter undisturbed.ini)"
}

@test "SIGTERM ends it as well" {
    stand_in_that_hangs
    start --config "$sweeps/many.ini" --jobs 1
    stuck
    kill -TERM "$run"
    ended
    [ "$code" -ne 0 ]
    none_alive
}

@test "SIGKILL of the coordinator: no worker outlives it, and the record is good" {
    stand_in_that_hangs
    start --config "$sweeps/many.ini" --jobs 1
    stuck
    kill -KILL "$run"
    ended
    none_alive
    stand_in
    measures 20 --config "$sweeps/many.ini"
    has results/tuned.ini "parameter.block_size = 256"
}

@test "a kernel that hangs does not keep Ctrl-C waiting" {
    stand_in "log = $scratch/calls"
    sweep "launch_timeout_s = 60" "[scale]" "mode = hang"
    start --config sweep.ini
    launched 1
    sleep 0.5
    SECONDS=0
    kill -INT "$run"
    ends 130
    [ $SECONDS -le 10 ]
    none_alive
}

@test "SIGINT, SIGTERM and SIGHUP to the workers change nothing: the run decides when to end" {
    rm -rf cache # compile workers work, too
    stand_in "log = $scratch/calls"
    start --config "$sweeps/many.ini" --jobs 2
    launched 5
    for signal in INT TERM HUP; do
        for process in $(alive); do
            [ "$process" -eq "$run" ] || kill -$signal "$process" || true # it may have ended by itself
        done
    done
    ends 0
    recorded 20
}

@test "SIGTERM to workers at any time, even while NVRTC compiles and would end them: no variant fails" {
    rm -rf cache # so that they compile
    start --config "$sweeps/scale.ini" --jobs 2
    while workers=$(cat "/proc/$run/task/$run/children" 2>/dev/null); do
        # shellcheck disable=SC2086 # one word each
        [ -z "$workers" ] || kill -TERM $workers 2>/dev/null || true # they may have ended by themselves
    done
    ends 0
    recorded 9
}

@test "SIGTERM to every process of the run: no variant fails" {
    rm -rf cache # compile workers work, too
    stand_in_that_hangs
    start --config "$sweeps/many.ini" --jobs 2
    stuck
    processes=$(alive)
    # shellcheck disable=SC2086 # one word each
    kill -TERM $processes
    ends 130
    none_alive
    stand_in
    measures 20 --config "$sweeps/many.ini"
}

# answers SIGNAL: the run ends within a second of it; a busy machine gets ten
answers() {
    local began=${EPOCHREALTIME/[.,]/} limit=10000000
    kill "-$1" "$run"
    ends 130
    [ $((${EPOCHREALTIME/[.,]/} - began)) -lt "$limit" ] || {
        echo "took $((${EPOCHREALTIME/[.,]/} - began)) microseconds"
        return 1
    }
    none_alive
}

@test "a space that takes minutes to plan does not keep Ctrl-C waiting" {
    sweep <<'INI'
[scale]
block_size = 1..4096, 4097..8192, 8193..12288
num_load = 1..4096, 4097..8192, 8193..12288
mode = good, wrong, partial, overrun, underrun, modify_input, hang, fault, trap
constraint = block_size * num_load + block_size / num_load + num_load / block_size < 0 and mode == "good"
INI
    for signal in INT TERM HUP; do
        start --config sweep.ini
        sleep 1
        answers $signal
    done
}

@test "a driver that does not answer does not keep Ctrl-C waiting while the GPUs are listed" {
    stand_in "log = $scratch/calls" "fault = cuInit:1:hang"
    start --config "$sweeps/many.ini" --device all
    stuck
    answers INT
}

@test "a cache or a tuned INI that another process has locked does not keep Ctrl-C waiting" {
    rm -rf cache # the shared one is not to be locked
    printf '[scale]\nn = 2^12\nblock_size = 64\n' | sweep
    expect 0 --config sweep.ini --results elsewhere --tuned results/tuned.ini
    exec 9>>cache/cubin/size
    flock -x 9
    start --config sweep.ini --results elsewhere --tuned results/tuned.ini 9>&-
    await "waiting for another process, which is removing entries of the cubin cache" err
    answers INT
    flock -u 9
    exec 9<results
    flock -x 9
    start --config sweep.ini --results elsewhere --tuned results/tuned.ini 9>&-
    await "nothing to do" err
    answers INT
    exec 9<&-
    expect 0 --config sweep.ini --results elsewhere --tuned results/tuned.ini
}

@test "nohup: a run goes on when its terminal closes" {
    stand_in_that_hangs
    nohup "$AUTOTUNE" --config "$sweeps/many.ini" >out 2>err </dev/null &
    run=$!
    stuck
    kill -HUP "$run"
    sleep 0.3
    kill -0 "$run"
    answers INT
}

@test "a parent that ignores SIGCHLD: a worker that is killed fails no variant" {
    stand_in "fault = cuModuleLoadData:8:kill"
    env --ignore-signal=CHLD "$AUTOTUNE" --config "$sweeps/many.ini" --format csv >out 2>err </dev/null
    equal "$(count outcome measured)" 20
}

# busy: waits until the worker that the stand-in has sleep is at it
busy() {
    await ' sleep' calls
}

@test "workers that are stopped beyond their deadline fail no variant" {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:8:sleep500"
    sed "s/^results = .*/&\nlaunch_timeout_s = 1/; s|^templates = .*|templates = $sweeps/templates|" \
        "$sweeps/many.ini" >sweep.ini
    AUTOTUNE_WORKER_TIMEOUT_S=1 start --config sweep.ini
    busy
    for process in $(alive); do
        [ "$process" -eq "$run" ] || kill -STOP "$process" || true
    done
    ends 0
    recorded 20
}

@test "a run that is stopped with its workers and goes on before them fails no variant" {
    stand_in "log = $scratch/calls" "fault = cuModuleLoadData:8:sleep500"
    sed "s/^results = .*/&\nlaunch_timeout_s = 1/; s|^templates = .*|templates = $sweeps/templates|" \
        "$sweeps/many.ini" >sweep.ini
    AUTOTUNE_WORKER_TIMEOUT_S=1 start --config sweep.ini
    busy
    processes=$(alive)
    # shellcheck disable=SC2086 # one word each
    kill -STOP $processes
    sleep 4
    kill -CONT "$run"
    sleep 0.3
    # shellcheck disable=SC2086
    kill -CONT $processes
    ends 0
    recorded 20
}

@test "a bundle that is interrupted leaves nothing behind" {
    printf '[scale]\nn = 2^12\nblock_size = 64\n' | sweep
    expect 0 --config sweep.ini
    rm -rf cache
    start bundle --tuned results/tuned.ini --templates templates --output bundle
    until compgen -G 'bundle.*' >/dev/null || [ ! -d /proc/$run ]; do :; done
    kill -TERM "$run" || true
    code=0
    wait "$run" || code=$?
    fails compgen -G 'bundle.*'
    [ "$code" -eq 0 ] && return # it was faster
    exits 130
    has err "interrupted; no bundle was written"
    [ ! -e bundle ]
}

@test "a compiler that does not answer does not keep Ctrl-C waiting, and nothing half written is left" {
    printf '[scale]\nn = 2^12\nblock_size = 64\n' | sweep
    expect 0 --config sweep.ini
    rm -rf cache
    export AUTOTUNE_NVRTC=$BUILD_DIR/tests/libstuck_nvrtc.so STUCK_NVRTC_FILE=$scratch/compiling
    local from="--kernel scale --templates templates" arguments i
    for arguments in "bundle --tuned results/tuned.ini --templates templates --output bundle" \
        "emit $from --ptx --output emitted" "emit $from --cubin --output emitted" "emit $from --ptx" \
        "check --config sweep.ini --compile" "run $from"; do
        # shellcheck disable=SC2086 # one word each
        start $arguments
        await stuck compiling
        kill -TERM "$run" # a shell's background processes ignore SIGINT
        for i in $(seq 200); do
            [ -d "/proc/$run" ] || break
            sleep 0.05
        done
        kill -KILL "$run" 2>/dev/null || true
        ended
        [ "$code" -eq 130 ] || exits 143
        none_alive
        rm compiling
        fails compgen -G 'bundle*'
        fails compgen -G 'emitted*'
    done
}

@test "a compiler that crashes in emit is an error, and leaves no file" {
    rm -rf cache # so that it compiles
    cp -r "$sweeps/templates" .
    export AUTOTUNE_NVRTC=$BUILD_DIR/tests/libstuck_nvrtc.so STUCK_NVRTC_FILE=$scratch/compiling
    start emit --kernel scale --templates templates --cubin --output emitted
    await stuck compiling
    for i in $(seq 100); do # a worker that is killed is replaced twice
        [ -d "/proc/$run" ] || break
        pkill -KILL -P "$run" || true
        sleep 0.1
    done
    kill -KILL "$run" 2>/dev/null || true
    ends 4
    has err "the compiler was killed by signal 9"
    fails compgen -G 'emitted*'
}
