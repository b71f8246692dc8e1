#!/usr/bin/env bats
# Hosts that share nothing: network namespaces, each with a name and a /tmp of its own, connected by a bridge.
load ../cli/helper
load cluster

# Numbers that no other run of this test has at the same time.
make_hosts() {
    local number
    HOSTS_NAME=at$$-
    net=10.$(($$ / 256 % 256)).$(($$ % 256))
    export HOSTS_NAME HOSTS_STANDIN=
    [ ${#recovery[@]} -gt 0 ] || skip "the hosts are entered in Open MPI's way"
    case $BUILD_DIR in /tmp/*) skip "the build is in /tmp, which hosts have of their own" ;; esac
    if ! unshare -m -u true 2>/dev/null || ! ip link add "atb$$" type bridge 2>/dev/null; then
        skip "no network namespaces may be made here"
    fi
    ip addr add "$net.1/24" dev "atb$$"
    ip link set "atb$$" up
    for number in 2 3; do
        ip netns add "$HOSTS_NAME$number"
        ip link add "at$$v$number" type veth peer name eth0 netns "$HOSTS_NAME$number"
        ip link set "at$$v$number" master "atb$$" up
        ip -n "$HOSTS_NAME$number" addr add "$net.$number/24" dev eth0
        ip -n "$HOSTS_NAME$number" link set eth0 up
        ip -n "$HOSTS_NAME$number" link set lo up
    done
    over_hosts=(--mca btl "tcp,self" --mca plm_rsh_agent "$SOURCE_DIR/tests/mpi/enter_host.sh"
        --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include "$net.0/24" --mca btl_tcp_if_include "$net.0/24"
        --host "$net.1:1,$net.2:1,$net.3:1" --map-by ppr:1:node -n 3)
}

teardown() {
    local number
    for number in 2 3; do
        ip netns pids "at$$-$number" 2>/dev/null | xargs -r kill -9
        ip link del "at$$v$number" 2>/dev/null || true
        ip netns del "at$$-$number" 2>/dev/null || true
    done
    ip link del "atb$$" 2>/dev/null || true
    rm -rf "$hosts"
    helper_teardown
}

@test "three hosts that share nothing compile and measure for one record" {
    make_hosts
    code=0
    timeout -k 1 60 mpirun --allow-run-as-root "${over_hosts[@]}" "$BUILD_DIR/autotune-mpi" \
        --config "$sweeps/scale.ini" --timings >out 2>err </dev/null || code=$?
    exits 0
    has err "3 nodes, 3 GPUs" "node 'node2': " "node 'node3': "
    equal "$(grep -c "busy with [1-9]" err)" 3
    has out "screened on 3 GPUs"
    [ -s results/tuned.ini ]
}

@test "a host whose network fails loses its work to the others" {
    make_hosts
    local keepalive=(--mca oob_tcp_keepalive_time 1 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 1)
    stand_in "fault = cuModuleLoadData:*:sleep300"
    export HOSTS_STANDIN=",fault=cuModuleLoadData:*:sleep300"
    code=0
    timeout -k 1 60 mpirun --allow-run-as-root --enable-recovery "${keepalive[@]}" "${over_hosts[@]}" "$BUILD_DIR/autotune-mpi" \
        --config "$sweeps/many.ini" >out 2>err </dev/null &
    local run=$! i
    for ((i = 0; i < 300; i++)); do # until its GPU has measured something
        "$AUTOTUNE" report --results results --format csv 2>/dev/null | grep -q GPU-30313233 && break
        sleep 0.1
    done
    ip link set "at$$v3" down
    wait "$run" || code=$?

    exits 0
    has err "of node 'node3'" "the others take over its work"
}
