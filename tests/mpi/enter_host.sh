#!/bin/sh
# usage: enter_host.sh HOST COMMAND...
# Open MPI's plm_rsh_agent for hosts that are network namespaces: runs the command in $HOSTS_NAME plus the last number of
# the address HOST, with a name and a /tmp of its own and nothing of the caller's environment.
set -eu
number=${1##*.}
shift
# shellcheck disable=SC2016 # for the inner shell
exec ip netns exec "$HOSTS_NAME$number" unshare -m -u sh -c '
    hostname "node$0"
    mount -t tmpfs none /tmp
    cd /tmp
    exec env -i PATH="$PATH" HOME=/tmp LD_LIBRARY_PATH="$BUILD_DIR/tests/standin" \
        AUTOTUNE_STANDIN="noise=0.002,first_uuid=$((16 * $0))$HOSTS_STANDIN" \
        AUTOTUNE_WORKER_TIMEOUT_S="${AUTOTUNE_WORKER_TIMEOUT_S:-60}" sh -c "$*"' "$number" "$@"
