#!/usr/bin/env bats
# Sweeps and templates from strangers: sweeps that write elsewhere, compiler options that write files; and two runs that
# would meet on one GPU.
shared_cubins=yes
load helper

# project LINES…: a template `own` in a folder p, whose .ini has these lines in [kernel], and a sweep of it
project() {
    mkdir -p p
    cp "$sweeps/templates/scale.cu" p/own.cu
    { sed -n '1p' "$sweeps/templates/scale.ini" && printf '%s\n' "$@" && sed '1d' "$sweeps/templates/scale.ini"; } >p/own.ini
    printf '[own]\nn = 2^10\n' >p/sweep.ini
}

# waits_not ARGUMENTS: autotune, which must not wait for the writer of a pipe
waits_not() {
    code=0
    timeout -k 1 60 "$AUTOTUNE" "$@" >out 2>err </dev/null || code=$?
    [ "$code" -lt 124 ] || echo "waited: $*"
    [ "$code" -lt 124 ]
}

@test "a template may read any file, as a Makefile may" {
    mkdir other
    cp "$sweeps/templates/scale.cu" outside.cu
    echo >other/own.h
    project "source = ../outside.cu" "include = other"
    sed -i '1i #include "own.h"' outside.cu
    measures 1 --config p/sweep.ini
}

@test "a sweep file cannot write outside the current folder" {
    mkdir here far
    echo mine >far/file
    before=$(find . ! -path './here*' ! -path './cache*')
    cd here
    for line in "tuned = /tmp/autotune-hostile.ini" "tuned = ../hostile.ini" "results = nowhere/../../x" \
        "results = ../x" "tuned = .." "tuned = link/t.ini" "results = link" "results = link/x/y" "tuned = file"; do
        ln -sfn ../far link
        ln -sfn ../far/file file
        project
        printf '[sweep]\n%s\n[own]\nn = 2^10\n' "$line" >p/sweep.ini
        for command in "" check; do
            # shellcheck disable=SC2086 # no command is no word
            expect 2 $command --config p/sweep.ini
            has err sweep.ini "outside the current folder" "--${line%% *}"
        done
        [ ! -e /tmp/autotune-hostile.ini ]
        [ ! -e results ]
        [ ! -e nowhere ]
        equal "$(cd .. && find . ! -path './here*' ! -path './cache*')" "$before"
        equal "$(cat ../far/file)" mine
    done
    printf '[sweep]\ntuned = ../x/t.ini\nresults = ../r\n[own]\nn = 2^10\n' >p/sweep.ini
    expect 0 --config p/sweep.ini --tuned own.ini --results ../far/r
    [ -e own.ini ]
    [ -e ../far/r/record.sqlite ]
    [ ! -e ../x ]
    [ ! -e ../r ]
}

@test "a link that stays below the current folder may be written to" {
    project
    mkdir inside
    ln -s inside link
    printf '[sweep]\ntuned = link/t.ini\nresults = link/r\n[own]\nn = 2^10\n' >p/sweep.ini
    expect 0 --config p/sweep.ini
    [ -e inside/t.ini ]
    [ -e inside/r/record.sqlite ]
}

@test "compiler options that write files are refused, wherever the template is used" {
    for option in --time=x.csv -time=x --create-pch=x --pch -pch-dir=. --fdevice-time-trace=x -fdevice-time-trace=x \
        "-Xcudafe --list=x" -Xcudafe=--xref=x "-Xnvvm -x" --ptxas-options=--compiler-stats-file=x \
        "-Xptxas --compiler-stats-file=x" "-Xptxas --compiler-stats-file -Xptxas x" -Xptxas=-optf=x -Xptxas=-o=x; do
        project "options = -lineinfo $option"
        expect 2 check --config p/sweep.ini
        has err own.ini:2 "makes the compiler write files"
        expect 2 emit --kernel own --templates p --source
        has err "write files"
    done
    [ ! -e x ]
}

@test "headers of the source's own are found through 'include' and not through compiler options" {
    mkdir other
    echo '#define FOUND 1' >other/found.h
    project "include = ../other"
    sed -i '1i #include <found.h>\n#if !FOUND\n#error not found\n#endif' p/own.cu
    measures 1 --config p/sweep.ini
    for option in "-I$PWD/other" "-I $PWD/other" "--include-path=$PWD/other" --pre-include=found.h "-include found.h"; do
        project "options = $option"
        expect 2 check --config p/sweep.ini
        has err own.ini:2 "adds headers"
    done
}

@test "compiler options that tune the compiler are passed on" {
    project "options = -DFOUND=1 -Xptxas -dlcm=ca --ptxas-options=-O2 --ptxas-options=-warn-spills"
    sed -i '1i #if !FOUND\n#error not found\n#endif' p/own.cu
    measures 1 --config p/sweep.ini
}

@test "a pipe for a source does not wait for its writer" {
    project
    rm p/own.cu
    mkfifo p/own.cu
    waits_not check --config p/sweep.ini
    exits 2
    has err own.cu
}

@test "a pipe for a header does not wait for its writer" {
    project
    sed -i '1i #include "gain.h"' p/own.cu
    mkfifo p/gain.h
    waits_not --arch sm_90 --config p/sweep.ini
    exits 2
    has err gain.h
}

@test "two runs on one GPU: the second refuses, or waits until the first is gone" {
    hold
    expect 3 --config "$sweeps/scale.ini" --no-wait
    has err "process $holder"
    [ ! -e results/tuned.ini ]
    start --config "$sweeps/scale.ini"
    await "waiting for process $holder" err
    [ ! -e results/tuned.ini ]
    kill -KILL "$holder"
    ends 0
    has results/tuned.ini "parameter.block_size = 256"
    none_alive
}

@test "two runs on one GPU: the second refuses, whatever its cache" {
    hold
    AUTOTUNE_CACHE=$scratch/other autotune --config "$sweeps/scale.ini" --no-wait
    exits 3
    has err "process $holder"
    kill -KILL "$holder"
    none_alive
}

@test "Ctrl-C ends the waiting" {
    hold
    start --config "$sweeps/scale.ini"
    sleep 1
    kill -INT "$run"
    ended
    kill -KILL "$holder"
    exits 130
    none_alive
}

@test "two GPUs at once: both run, and neither loses what the other found" {
    stand_in "devices=2" "noise=0"
    cp -r "$sweeps/templates" "$sweeps/scale.ini" .
    "$AUTOTUNE" --config scale.ini --device 0 --no-wait >out0 2>err0 </dev/null &
    first=$!
    expect 0 --config scale.ini --device 1 --no-wait --format csv
    wait $first
    equal "$(count outcome measured)" 9
    has results/tuned.ini "parameter.block_size = 256"
}

@test "a source that is not UTF-8 compiles; a path that is not is refused at once" {
    project
    printf '/* caf\351 */\n' >>p/own.cu
    measures 1 --config p/sweep.ini
    rm -rf results
    mv p "$(printf 'caf\351')"
    expect 2 --config "$(printf 'caf\351/sweep.ini')"
    has err UTF-8
}

@test "a record that may not grow says so, not that its disk is broken" {
    (ulimit -f 8 && exec "$AUTOTUNE" --config "$sweeps/scale.ini") >out 2>err </dev/null || code=$?
    exits 4
    has err "record.sqlite: the record cannot be used: File too large"
}

@test "a cubin cache in a folder whose name is not UTF-8 is refused by its name" {
    AUTOTUNE_CACHE=$(printf '%s/caf\351' "$scratch")
    for arguments in "--config $sweeps/scale.ini" "--config $sweeps/scale.ini --arch sm_90" \
        "run --template $sweeps/templates/scale.ini"; do
        # shellcheck disable=SC2086 # words
        expect 2 $arguments
        has err "is not UTF-8; rename it, or set AUTOTUNE_CACHE"
    done
}

@test "a pipe or a device for a file is refused, not waited on" {
    mkfifo pipe
    project
    for file in pipe /dev/zero; do
        for arguments in "--config $file" "check --config $file" "explain --kernel own --tuned $file" \
            "export --definitions --kernel own --tuned $file" \
            "compare $file $file" "merge --output merged.ini $file $file" "--config p/sweep.ini --tuned $file"; do
            # shellcheck disable=SC2086 # words
            waits_not $arguments
            [ "$code" -ne 0 ]
            has err "$file"
        done
        rm p/own.ini
        ln -s "$(realpath "$file")" p/own.ini
        waits_not check --config p/sweep.ini
        exits 2
        rm p/own.ini
        project
    done
}

@test "so is a pipe in place of NVRTC" {
    mkdir -p toolkit/lib64
    mkfifo pipe toolkit/lib64/libnvrtc.so.13
    cp -r "$sweeps/templates" .
    printf '[scale]\nblock_size = 64\n' | sweep
    export AUTOTUNE_NVRTC=$scratch/pipe
    local arguments
    for arguments in "emit --kernel scale --templates templates --ptx" "check --config sweep.ini --compile" \
        "tune --config sweep.ini"; do
        # shellcheck disable=SC2086 # one word each
        waits_not $arguments
        exits 3
        has err "not a regular file"
    done
    unset AUTOTUNE_NVRTC # the next toolkit's is used
    CUDA_HOME=$scratch/toolkit timeout 10 "$AUTOTUNE" emit --kernel scale --templates templates --ptx >out
}

@test "so is a pipe for the record, or for a file that SQLite keeps beside it" {
    project
    expect 0 --config p/sweep.ini
    for file in record.sqlite-journal record.sqlite; do
        rm -f results/$file
        mkfifo results/$file
        for arguments in "--config p/sweep.ini" report "compare results results"; do
            # shellcheck disable=SC2086 # words
            waits_not $arguments
            [ "$code" -ne 0 ]
            has err results/$file
        done
        rm results/$file
    done
}

@test "a pipe or a file of 40 GB in the cache is compiled again" {
    rm -rf cache
    project
    expect 0 --config p/sweep.ini
    for plant in "mkfifo" "truncate -s 40G"; do
        for entry in cache/cubin/??/*; do
            rm "$entry"
            $plant "$entry"
        done
        rm -rf results
        waits_not --config p/sweep.ini --format csv
        exits 0
        equal "$(count outcome measured)" 1
    done
}

@test "a limit on the size of files is an error, not a death" {
    project
    code=0
    (ulimit -f 8 && exec "$AUTOTUNE" --config p/sweep.ini) >out 2>err </dev/null || code=$?
    exits 4
    grep -q "autotune: " err
    expect 0 --config p/sweep.ini
}

@test "a limit on the size of files does not limit what emit and check compile for a pipe" {
    project
    code=0
    (ulimit -f 1 && "$AUTOTUNE" emit --kernel own --templates p --arch sm_90 --ptx 2>&1 &&
        "$AUTOTUNE" check --config p/sweep.ini --compile 2>&1) | cat >out || code=$?
    has out ".entry " " registers, "
    lacks out "the compiler "
}

@test "a record whose path is too long for SQLite is refused with that reason" {
    local long
    long=$scratch/$(printf 'x%.0s' {1..250})/$(printf 'y%.0s' {1..250})
    sweep <<<'[scale]'
    expect 4 --config sweep.ini --results "$long"
    has err ": the path has " " bytes, but SQLite opens at most 504; choose another folder with --results"
    lacks err "look at its disk"
}
