# For the walks over every call of the driver and of the file system: the sweep that is walked over, and what must hold
# after a run that something happened to.

# Lines of a tuned INI in which two runs differ: a timer's ticks fall otherwise on an interrupted run.
unlike='^(date|command|samples|runs|sm_clock_mhz|dropped_samples|throttled_samples|other_processes|[a-z_]+_ns|g[a-z]+_per_s) ='

# begin: the sweep, undisturbed; cubins are cached from then on
begin() {
    printf 'launch_timeout_s = 0.3\n[scale]\nn = 2^10\nnum_load = 1, 4\n' | sweep
    stand_in "noise = 0" "base_ns = 4000" "log = $scratch/calls"
    autotune --config sweep.ini --format csv
    exits 0
    equal "$(count outcome measured)" 2
    grep -vE "$unlike" results/tuned.ini >undisturbed.ini
    export AUTOTUNE_WORKER_TIMEOUT_S=2
}

# steps TOTAL: the N of the walk, the first and the last among them
steps() {
    local wanted=${AUTOTUNE_WALK:-5} i
    [ "$wanted" != all ] && [ "$wanted" -lt "$1" ] || wanted=$1
    for i in $(seq "$wanted"); do
        echo $((wanted > 1 ? 1 + (i - 1) * ($1 - 1) / (wanted - 1) : $1))
    done
}

same_as_undisturbed() {
    grep -vE "$unlike" results/tuned.ini | diff undisturbed.ini - || return 1
}

# after WHAT: what must hold after a run that something happened to, and after the next one
after() {
    echo "$1: exit code $code"
    cat err
    case $code in
    0)
        equal "$(column outcome | wc -l)" 2
        [ "$(count outcome measured)" -lt 2 ] || same_as_undisturbed
        ;;
    1 | 2 | 3 | 4) [ -s err ] ;;
    *) exits 0 ;;
    esac
    none_alive
    stand_in "noise = 0" "base_ns = 4000"
    # a variant keeps an outcome that it got from the driver's error
    autotune --config sweep.ini --format csv
    [ "$code" -eq 0 ] || [ "$code" -eq 1 ] || exits 0
    equal "$(column outcome | wc -l)" 2
    [ "$(count outcome measured)" -lt 2 ] || same_as_undisturbed
}
