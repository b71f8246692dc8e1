#!/usr/bin/env bats
# Sweeps and templates from strangers: paths that leave the project, options that name files; and two runs that would
# meet on one GPU.
load helper

# project LINES…: a template `own` in a folder p, whose .ini has these lines in [kernel], and a sweep of it
project() {
    mkdir -p p
    cp "$sweeps/templates/scale.cu" p/own.cu
    { sed -n '1p' "$sweeps/templates/scale.ini" && printf '%s\n' "$@" && sed '1d' "$sweeps/templates/scale.ini"; } >p/own.ini
    printf '[own]\nn = 2^10\n' >p/sweep.ini
}

@test "a source outside of the project is refused, also through a symbolic link" {
    cp "$sweeps/templates/scale.cu" outside.cu
    project "source = ../outside.cu"
    autotune check --config p/sweep.ini
    exits 2
    has err own.ini outside.cu --allow-path
    project
    ln -sf ../outside.cu p/own.cu
    autotune check --config p/sweep.ini
    exits 2
    has err outside.cu
    autotune check --config p/sweep.ini --allow-path
    exits 0
}

@test "include folders, headers and arrays outside of the project are refused" {
    mkdir other
    project "include = ../other"
    autotune check --config p/sweep.ini
    exits 2
    has err other
    echo >other/secret.h
    project
    sed -i '1i #include "../other/secret.h"' p/own.cu
    autotune check --config p/sweep.ini
    exits 2
    has err secret.h
    project
    sed -i 's|^fill = .*|fill = file(../../../etc/hostname)|' p/own.ini
    autotune check --config p/sweep.ini
    exits 2
    has err etc/hostname
}

@test "templates outside of the project are refused; those in kernel_templates beside the sweep's folder are not" {
    project
    mkdir sweeps
    printf '[sweep]\ntemplates = ../p\n[own]\nn = 2^10\n' >sweeps/sweep.ini
    autotune check --config sweeps/sweep.ini
    exits 2
    has err own.ini
    mv p kernel_templates
    printf '[own]\nn = 2^10\n' >sweeps/sweep.ini
    autotune check --config sweeps/sweep.ini
    exits 0
}

@test "a sweep cannot write outside of the current folder" {
    for line in "tuned = /tmp/autotune-hostile.ini" "tuned = ../hostile.ini" "results = nowhere/../../x"; do
        printf '[sweep]\n%s\n[own]\nn = 2^10\n' "$line" >line.ini
        project
        mv line.ini p/sweep.ini
        autotune --config p/sweep.ini
        exits 2
        has err --allow-path
        [ ! -e /tmp/autotune-hostile.ini ]
        [ ! -e ../hostile.ini ]
        [ ! -e ../x ]
    done
    printf '[sweep]\ntuned = ../x/t.ini\nresults = r\n[own]\nn = 2^10\n' >p/sweep.ini
    autotune --config p/sweep.ini --tuned own.ini
    exits 0
    [ -e own.ini ]
}

@test "compiler options that read or write files are refused" {
    for option in --time=x.csv --create-pch=x -I/etc --pre-include=/etc/hostname -fdevice-time-trace=x; do
        project "options = $option"
        autotune check --config p/sweep.ini
        exits 2
        has err "$option"
    done
}

@test "a pipe for a source does not wait for its writer" {
    project
    rm p/own.cu
    mkfifo p/own.cu
    code=0
    timeout 10 "$AUTOTUNE" check --config p/sweep.ini 2>err || code=$?
    exits 2
    has err own.cu
}

# hold: a run that keeps the first GPU until $holder is killed
hold() {
    sweep <<'INI'
launch_timeout_s = 60
[scale]
mode = hang
INI
    "$AUTOTUNE" --config sweep.ini --results held --tuned held.ini >/dev/null 2>&1 </dev/null &
    holder=$!
    local i
    for i in $(seq 200); do
        grep -qs "$holder" cache/lock/* && return
        sleep 0.05
    done
    return 1
}

@test "two runs on one GPU: the second refuses, or waits until the first is gone" {
    hold
    autotune --config "$sweeps/scale.ini" --no-wait
    exits 3
    has err "process $holder"
    [ ! -e results/tuned.ini ]
    "$AUTOTUNE" --config "$sweeps/scale.ini" >out 2>err </dev/null &
    second=$!
    for i in $(seq 200); do
        grep -q "waiting for process $holder" err && break
        sleep 0.05
    done
    has err "waiting for process $holder"
    [ ! -e results/tuned.ini ]
    kill -KILL $holder
    wait $second
    has results/tuned.ini "parameter.block_size = 256"
    none_alive
}

@test "Ctrl-C ends the waiting" {
    hold
    "$AUTOTUNE" --config "$sweeps/scale.ini" >out 2>err </dev/null &
    second=$!
    sleep 1
    kill -INT $second
    code=0
    wait $second || code=$?
    kill -KILL $holder
    exits 130
    none_alive
}

@test "two GPUs at once: both run, and neither loses what the other found" {
    stand_in "devices=2" "noise=0"
    cp -r "$sweeps/templates" "$sweeps/scale.ini" .
    "$AUTOTUNE" --config scale.ini --device 0 --no-wait >out0 2>err0 </dev/null &
    first=$!
    autotune --config scale.ini --device 1 --no-wait --format csv
    exits 0
    wait $first
    equal "$(count outcome measured)" 9
    has results/tuned.ini "parameter.block_size = 256"
}

@test "a source that is not UTF-8 compiles; a path that is not is refused at once" {
    project
    printf '/* caf\351 */\n' >>p/own.cu
    autotune --config p/sweep.ini --format csv
    exits 0
    equal "$(count outcome measured)" 1
    rm -rf results
    mv p "$(printf 'caf\351')"
    autotune --config "$(printf 'caf\351/sweep.ini')"
    exits 2
    has err UTF-8
}
