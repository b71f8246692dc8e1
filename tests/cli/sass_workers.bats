#!/usr/bin/env bats
# --sass in static mode: the compile workers run the disassembler, and the cubin cache keeps what they counted. With a
# disassembler that the tests write, so that none is needed.
load helper
load sass

# disassembler COMMANDS: an nvdisasm that runs them and then prints a kernel with two loads. Its calls are in `calls`.
disassembler() {
    mkdir -p bin
    cat >bin/nvdisasm <<END
#!/bin/sh
echo "begin \$\$" >>$scratch/calls
$1
echo "end \$\$" >>$scratch/calls
printf '.text.widths:\n  /*0000*/ LDG.E.128 R0, [R2] ;\n  /*0010*/ LDG.E R4, [R2] ;\n  /*0020*/ EXIT ;\n'
END
    chmod +x bin/nvdisasm
    PATH=$scratch/bin:$PATH
    : >calls
}

calls() {
    grep -c begin calls || true
}

counted() { # by the JSON report in `out`: six variants, of three binaries
    equal "$(grep -c '"load_128": 1' out)" 6
    equal "$(grep -c '"load_32": 1' out)" 6
}

@test "as many cubins are disassembled at a time as there are workers" {
    templates
    disassembler "sleep 1"
    autotune --config sweep.ini --arch sm_90 --sass --format json --jobs 3
    exits 0
    counted
    equal "$(calls)" 3
    equal "$(head -n 2 calls | grep -c begin)" 2
}

@test "what was counted is in the cubin's entry, and is not counted again" {
    templates
    disassembler true
    autotune --config sweep.ini --arch sm_90 # compiled before anything is counted
    exits 0
    files=$(find cache/cubin -type f | sort)
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    counted
    equal "$(calls)" 3
    equal "$(find cache/cubin -type f | sort)" "$files"
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    counted
    autotune --config sweep.ini --arch sm_90 --sass --format json --results other # a new record
    exits 0
    counted
    equal "$(calls)" 3
    autotune cache --clear
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    counted
    equal "$(calls)" 6
}

@test "counts in a damaged entry are counted again" {
    templates
    disassembler true
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    for entry in cache/cubin/??/*; do
        LC_ALL=C sed -i '5s/^\(\([0-9]* \)\{8\}\)0 /\17 /' "$entry" # the first count
    done
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    counted
    lacks out '"load_narrow"'
    equal "$(calls)" 6
}

@test "Ctrl-C during --sass: exit 130 within a second, and no disassembler is left" {
    templates
    disassembler "exec sleep 60"
    "$AUTOTUNE" --config sweep.ini --arch sm_90 --sass --jobs 2 >out 2>err </dev/null &
    run=$!
    for i in $(seq 600); do
        [ "$(calls)" -lt 2 ] || break
        sleep 0.05
    done
    equal "$(calls)" 2
    begin=$(date +%s%N)
    kill -INT "$run"
    code=0
    wait "$run" || code=$?
    exits 130
    [ $(($(date +%s%N) - begin)) -lt 10000000000 ] # a busy machine gets ten
    none_alive
    for process in $(sed -n 's/begin //p' calls); do
        fails grep -qs '^State:.[^ZX]' "/proc/$process/status"
    done
}

@test "a disassembler that fails ends the run with its message, and no variant is to blame" {
    templates
    disassembler 'echo "nvdisasm fatal : no idea" >&2; exit 1'
    autotune --config sweep.ini --arch sm_90 --sass
    exits 4
    has err "nvdisasm" "no idea"
    disassembler true
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    counted
    lacks out compile_error
}

@test "a worker that is killed while it disassembles costs nothing" {
    templates
    disassembler 'mkdir first 2>/dev/null && kill -KILL $PPID'
    autotune --config sweep.ini --arch sm_90 --sass --format json
    exits 0
    counted
    equal "$(calls)" 4
}

@test "--sass shows the time left, right within a factor of two from a quarter of the run on" {
    command -v python3 >/dev/null || skip "no python3 to make a terminal"
    templates
    disassembler 'case $(wc -l <'"$scratch"'/calls) in *[02468]) sleep 0.2 ;; *) sleep 0.6 ;; esac'
    sed -i 's/alignas(4 \* WIDTH)/alignas(4 * WIDTH + 0 * PAD)/; 1i #ifndef PAD\n#define PAD 0\n#endif' kernel_templates/widths.cu
    sed -i 's/sum = 0;/sum = PAD;/' kernel_templates/widths.cu
    sed -i 's/^width = 1/width = 1\npad = 0\n[problem]\nn = 1/' kernel_templates/widths.ini
    sed -i '/^blocks/d' sweep.ini
    printf 'pad = 0..11\n' >>sweep.ini
    sed 's/0\.\.11/0..5/' sweep.ini >half.ini
    autotune --config half.ini --arch sm_90 --sass # half of it is in the cache: done at once
    exits 0
    printf 'n = 1, 2, 3\n' >>sweep.ini # the same binaries three times
    cat >terminal.py <<'PYTHON'
import os, pty, re, sys, time
begin = time.time()
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = []
while True:
    try:
        text = os.read(terminal, 4096)
    except OSError:
        break
    if not text:
        break
    for left in re.findall(rb"; (\d+) s left", text):
        shown.append((time.time() - begin, int(left)))
end = time.time() - begin
assert os.waitpid(process, 0)[1] == 0
later = [(at, left) for at, left in shown if at > end / 4]
print(end, shown)
assert len(later) >= 3
for at, left in later:
    rest = end - at
    assert rest / 2 - 1.1 < left < 2 * rest + 1.1, (at, left, end)
PYTHON
    python3 terminal.py "$AUTOTUNE" --config sweep.ini --arch sm_90 --sass --jobs 2 --results other >shown 2>&1 || {
        cat shown
        return 1
    }
}
