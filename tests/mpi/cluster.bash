# A cluster on one machine: ranks of which each has its own files, its own GPUs and its own cache. Loaded after ../cli/helper.
# MPIRUN: the mpirun to use, Open MPI's or MPICH's (default: mpirun).

MPIRUN=${MPIRUN:-mpirun}
# The launcher. SIGINT, which the shell has processes in the background ignore, must reach it.
launch=(env --default-signal=INT "$MPIRUN")
# What makes the others go on if a rank dies. MPICH ends the job.
recovery=()
if "$MPIRUN" --version 2>/dev/null | grep -q HYDRA; then
    launch+=(-bind-to none)
else
    launch+=(--allow-run-as-root --oversubscribe --bind-to none --mca btl "vader,self")
    recovery=(--enable-recovery)
fi

needs_recovery() {
    [ ${#recovery[@]} -gt 0 ] || skip "this MPI ends the job when a rank dies"
    options=("${recovery[@]}")
}

# rank_environment RANK LINES: shell commands that rank RANK begins with
rank_environment() {
    cat >>"rank.$1"
}

# cluster RANKS ARGUMENTS: as autotune(). Each rank has another current folder, cache and TMPDIR, and with root's rights
# does not see the files of rank 0 at all.
cluster() {
    local ranks=$1
    shift
    cat >rank.sh <<SH
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
[ ! -e "$scratch/rank.\$rank" ] || . "$scratch/rank.\$rank"
echo \$\$ >$hosts/pid.\$rank
if [ "\$rank" -gt 0 ]; then
    own=$hosts/\$rank
    mkdir -p "\$own/cache" "\$own/tmp"
    export TMPDIR=\$own/tmp AUTOTUNE_CACHE=\$own/cache AUTOTUNE_LOCK_FOLDER=\$own/locks
    export AUTOTUNE_STANDIN=\${AUTOTUNE_STANDIN_HERE:-noise=0.002,first_uuid=\$((rank * 16))}
    cd "\$own"
    $hide
fi
exec "\${program:-$BUILD_DIR/autotune-mpi}" "\$@"
SH
    code=0
    timeout -k 1 60 "${launch[@]}" "${options[@]}" -n "$ranks" bash "$scratch/rank.sh" "$@" >out 2>err </dev/null || code=$?
}

# processes: of this cluster, as numbers: ranks, the coordinator and all workers
processes() {
    local process
    for process in $(grep -lsF "$hosts" /proc/[0-9]*/environ); do
        process=${process#/proc/}
        case $(readlink "/proc/${process%/environ}/exe") in
        */autotune | */autotune-mpi) echo "${process%/environ}" ;;
        esac
    done
}

setup_hosts() {
    options=()
    hosts=$(mktemp -d)
    hide=:
    # what is on rank 0's machine is hidden from the others, if this may be done
    if unshare -m true 2>/dev/null; then
        hide="exec unshare -m sh -c 'mount -t tmpfs none \"$scratch\" && exec \"\$0\" \"\$@\"' \"\${program:-$BUILD_DIR/autotune-mpi}\" \"\$@\""
    fi
}

eval "$(declare -f setup | sed 's/^setup /helper_setup /')"
setup() {
    helper_setup
    hosts=
    command -v "$MPIRUN" >/dev/null || skip "there is no $MPIRUN"
    [ -x "$BUILD_DIR/autotune-mpi" ] || skip "autotune-mpi is not built"
    setup_hosts
}

eval "$(declare -f teardown | sed 's/^teardown /helper_teardown /')"
teardown() {
    [ -z "$hosts" ] || rm -rf "$hosts"
    helper_teardown
}
