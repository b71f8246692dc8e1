#!/usr/bin/env bats
# Any process of a run is killed at any time: nothing is lost, and the same winner comes out in the end.
# AUTOTUNE_MPI_KILLS: how many (default: 3).
shared_cubins=yes
load ../cli/helper
load cluster

# await_cluster PID: until cluster() has ended. Open MPI's launcher sometimes hangs if a rank dies while connecting to it,
# although all ranks have ended; it is then killed, and $launcher_hung set.
await_cluster() {
    local idle=0
    launcher_hung=
    while kill -0 "$1" 2>/dev/null; do
        idle=$((idle + 1))
        [ -z "$(processes)" ] || idle=0
        if [ "$idle" -ge 50 ]; then
            launcher_hung=yes
            pkill -9 -f "^$MPIRUN .*$scratch/rank.sh"
        fi
        sleep 0.2
    done
    wait "$1" || true
}

@test "kill -9 of any agent, any worker or rank 0, at any time: the run or the next ends with the same winner" {
    local i victim number
    RANDOM=${AUTOTUNE_MPI_SEED:-1}
    for ((i = 0; i < ${AUTOTUNE_MPI_KILLS:-3}; )); do
        rm -rf results
        export AUTOTUNE_WORKER_TIMEOUT_S=3 HOSTS=$hosts
        options=("${recovery[@]}")
        (
            cluster 3 --config "$sweeps/many.ini"
            echo "$code" >first.code
        ) &
        run=$!
        sleep "0.$((1 + RANDOM % 5))$((RANDOM % 10))"
        mapfile -t victim < <(processes)
        number=${#victim[@]}
        # only what was still there counts
        if [ "$number" -gt 0 ] && kill -9 "${victim[RANDOM % number]}" 2>/dev/null; then
            i=$((i + 1))
        fi
        await_cluster "$run"
        unset AUTOTUNE_WORKER_TIMEOUT_S
        options=()
        cp err first
        case $launcher_hung$(cat first.code) in
        124 | 137) # by the timeout
            echo "kill $i: the run did not end"
            tail -n 20 first
            return 1
            ;;
        esac
        cluster 3 --config "$sweeps/many.ini"
        exits 0
        equal "$(sed -n 's/^parameter.* = //p' results/tuned.ini | tr '\n' ' ')" "256 1 good "
        recorded 20
        equal "$(processes)" ""
    done
}
