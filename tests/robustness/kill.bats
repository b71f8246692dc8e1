#!/usr/bin/env bats
# SIGKILL of the coordinator or of a worker at random instants: nothing that was in the record is lost, what is
# measured in the end is what an undisturbed run finds, and no process outlives its coordinator.
# AUTOTUNE_KILLS (20) and AUTOTUNE_SEED (1) say how many and which.
load ../cli/helper

# Lines of a tuned INI in which two runs differ: a timer's ticks fall otherwise on an interrupted run.
unlike='^(date|command|samples|runs|sm_clock_mhz|dropped_samples|throttled_samples|other_processes|[a-z_]+_ns|g[a-z]+_per_s) ='

# known FILE: what the record knows, "variant outcome" a line; nothing where there is no record yet
known() {
    code=0
    "$AUTOTUNE" report --format csv >report.csv 2>report.err || code=$?
    case $code in
    0) awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { print $at["block_size"], $at["num_load"], $at["outcome"] }' report.csv | sort >"$1" ;;
    *)
        grep -qE 'there is no record yet|the record is empty' report.err || {
            echo "the record cannot be read: exit code $code"
            cat report.err
            return 1
        }
        : >"$1"
        ;;
    esac
}

# milliseconds N: sleeps
milliseconds() {
    sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

# timed ARGUMENTS: autotune, its time in $took_ms
timed() {
    local start
    start=$(date +%s%N)
    autotune "$@"
    took_ms=$((($(date +%s%N) - start) / 1000000))
}

# A worker of process $1, by random number $2; nothing where it has none.
a_worker() {
    local children
    read -ra children < <(cat "/proc/$1/task/$1/children" && echo) || return 0
    [ ${#children[@]} -eq 0 ] || echo "${children[$2 % ${#children[@]}]}"
}

# random_kills NUMBER ARGUMENTS: of runs with these arguments
random_kills() {
    local most=$1
    shift
    printf '[scale]\nn = 2^12\nblock_size = 64, 128, 256\nnum_load = 1, 2, 4, 8\n' | sweep
    timed --config sweep.ini --jobs 2 "$@"
    exits 0
    cold_ms=$took_ms
    rm -rf results
    timed --config sweep.ini --jobs 2 "$@"
    exits 0
    cached_ms=$took_ms
    grep -vE "$unlike" results/tuned.ini >undisturbed.ini
    known all
    equal "$(wc -l <all)" 12

    RANDOM=${AUTOTUNE_SEED:-1}
    kills=0
    of_workers=0
    completed=0
    while [ $kills -lt "$most" ]; do
        rm -rf results
        within_ms=$cached_ms
        [ $((RANDOM % 3)) -gt 0 ] || { rm -rf cache && within_ms=$cold_ms; }
        : >before
        until [ -e results/tuned.ini ] && [ "$code" -eq 0 ]; do
            "$AUTOTUNE" --config sweep.ini --jobs 2 "$@" >out 2>err </dev/null &
            run=$!
            milliseconds $((RANDOM % within_ms))
            victim=$run
            which=$RANDOM
            [ $((RANDOM % 3)) -gt 0 ] || victim=$(a_worker "$run" "$which" 2>/dev/null)
            if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then
                kills=$((kills + 1))
                [ "$victim" = "$run" ] || of_workers=$((of_workers + 1))
            fi
            code=0
            wait $run || code=$?
            case $code in
            0 | 137) ;;
            4) has err "was killed by signal 9" ;; # while it prepared, twice
            *) exits 0 ;;
            esac
            none_alive
            ended=$code
            known after
            code=$ended
            if [ -n "$(comm -23 before after)" ]; then
                echo "lost after $kills kills:"
                comm -23 before after
                return 1
            fi
            mv after before
        done
        completed=$((completed + 1))
        diff all before
        grep -vE "$unlike" results/tuned.ini | diff undisturbed.ini -
    done
    echo "$kills kills, $of_workers of them of workers, $completed sweeps completed" | tee kills >&3
}

@test "random kills" {
    stand_in "noise = 0"
    random_kills "${AUTOTUNE_KILLS:-20}"
}

@test "random kills of a run on several GPUs" {
    stand_in "noise = 0" "devices = 3"
    random_kills "$((${AUTOTUNE_KILLS:-20} / 4))" --device all
}
