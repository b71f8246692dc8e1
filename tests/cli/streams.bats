#!/usr/bin/env bats
# Standard streams that are closed, full or that nobody reads: nothing is lost.
load helper
shared_cubins=1

# nothing_lost: the run above tuned everything
nothing_lost() {
    recorded 9
    has results/tuned.ini "parameter.block_size = 256"
}

@test "closed standard streams do not become a worker's socket" {
    for streams in '<&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        rm -rf results
        code=0
        eval "\"\$AUTOTUNE\" --config \"\$sweeps/scale.ini\" $streams" >out || code=$?
        case $streams in
        *'>&- 2'*) exits 4 ;;
        *) exits 0 ;;
        esac
        nothing_lost
    done
}

# unread: descriptor 9 becomes a pipe that nobody reads
unread() {
    mkfifo pipe
    # shellcheck disable=SC2094 # the reader is there only while the writer is opened
    exec 8<>pipe 9>pipe 8<&-
}

@test "a standard output that is closed or full is an error" {
    for output in '>&-' '>/dev/full'; do
        rm -rf results
        code=0
        eval "\"\$AUTOTUNE\" --config \"\$sweeps/scale.ini\" $output" 2>err || code=$?
        exits 4
        has err "cannot be written: "
        nothing_lost
        for command in report devices "check --config $sweeps/scale.ini" --help --version; do
            code=0
            eval "\"\$AUTOTUNE\" $command $output" 2>err || code=$?
            exits 4
            has err "cannot be written: "
        done
    done
}

@test "a standard output that nobody reads, as with head, ends every command quietly" {
    unread
    for command in "--config $sweeps/scale.ini --quiet" report devices "check --config $sweeps/scale.ini --list" --help; do
        code=0
        eval "\"\$AUTOTUNE\" $command >&9" 2>err || code=$?
        exits 141 # by SIGPIPE
        [ ! -s err ]
    done
    nothing_lost
}

@test "a standard error that is full or that nobody reads ends nothing" {
    unread
    for error in '2>/dev/full' '2>&9'; do
        rm -rf results
        code=0
        eval "\"\$AUTOTUNE\" --config \"\$sweeps/scale.ini\" $error" >out || code=$?
        exits 0
        nothing_lost
    done
}
