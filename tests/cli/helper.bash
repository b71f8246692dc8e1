# What every command-line test begins with: a scratch folder as the current one, an empty cubin cache in it, and the
# stand-in driver in place of libcuda. Needs AUTOTUNE, BUILD_DIR and SOURCE_DIR, as ctest passes them.
# Works with bats 1.2 (Ubuntu 22.04).

setup() {
    : "${AUTOTUNE:?}" "${BUILD_DIR:?}" "${SOURCE_DIR:?}"
    scratch=$(mktemp -d)
    cd "$scratch"
    export AUTOTUNE_CACHE=$scratch/cache
    export AUTOTUNE_LOCK_FOLDER=$scratch/locks
    export LD_LIBRARY_PATH=$BUILD_DIR/tests/standin
    sweeps=$SOURCE_DIR/tests/standin
    # what the address sanitizer finds in any process, workers too; leaks, when a process ends by itself, only in files
    # that have set find_leaks: that takes an eighth of the time
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$scratch/sanitizer:detect_leaks=${find_leaks:-0}
    stand_in
    share_cache
}

# Which headers the toolkit has takes 0.1 s to read, and is the same for all tests. What a test compiles serves all tests
# of files that have set shared_cubins: those to which it does not matter whether anything is compiled. A test among them
# to which it does begins with `rm -rf cache`.
share_cache() {
    local cubins=${AUTOTUNE_TEST_CUBINS:-$BUILD_DIR/tests/cubin}
    mkdir -p "$cubins/toolkit" cache
    ln -s "$cubins/toolkit" cache/toolkit
    [ -z "${shared_cubins:-}" ] || ln -s "$cubins" cache/cubin
}

teardown() {
    local found=0 report
    for report in "$scratch"/sanitizer.*; do
        [ -e "$report" ] || continue
        found=1
        head -n 100 "$report"
    done
    cd /
    rm -rf "$scratch"
    return $found
}

# stand_in [KEY=VALUE...]: what the stand-in driver models from now on; counts of calls start anew
stand_in() {
    export AUTOTUNE_STANDIN=$scratch/standin.control
    rm -f "$AUTOTUNE_STANDIN.state"
    printf '%s\n' "noise=0.002" "$@" >"$AUTOTUNE_STANDIN"
}

# autotune ARGUMENTS: leaves the streams in the files out and err, and the exit code in $code
autotune() {
    code=0
    "$AUTOTUNE" "$@" >out 2>err </dev/null || code=$?
}

# fails COMMAND...: it does. (bats passes over a `! COMMAND` that succeeds, unless it is a test's last line.)
fails() {
    "$@" || return 0
    echo "should have failed: $*"
    return 1
}

# exits CODE: the last autotune did; else shows what it wrote
exits() {
    [ "$code" -eq "$1" ] && return
    echo "exit code $code, expected $1"
    tail -n 50 out err
    return 1
}

# expect CODE ARGUMENTS...: autotune with these arguments ends with it
expect() {
    local expected=$1
    shift
    autotune "$@"
    exits "$expected"
}

# measures COUNT ARGUMENTS...: so many variants are measured; the CSV is in out
measures() {
    local expected=$1
    shift
    expect 0 "$@" --format csv
    equal "$(count outcome measured)" "$expected"
}

# recorded COUNT: so many measured variants are in the record
recorded() {
    autotune report --format csv
    equal "$(count outcome measured)" "$1"
}

# nothing_to_do ARGUMENTS...: all of it is known
nothing_to_do() {
    expect 0 "$@"
    has err "nothing to do"
}

# start ARGUMENTS...: autotune in the background, in $run
start() {
    "$AUTOTUNE" "$@" >out 2>err </dev/null &
    run=$!
}

# ended: waits for it; its exit code is in $code
ended() {
    code=0
    wait "$run" || code=$?
}

# ends CODE: it does
ends() {
    ended
    exits "$1"
}

# interrupt ARGUMENT...: runs autotune, with Ctrl-C as soon as the stand-in hangs, which ends it with 130
interrupt() {
    start "$@"
    await ' hang' calls
    kill -INT "$run"
    ends 130
}

# await PATTERN FILE: until a line of the file matches
await() {
    local i
    for ((i = 0; i < 600; i++)); do
        grep -qs -- "$1" "$2" && return
        sleep 0.02
    done
    echo "no '$1' in $2"
    tail out err
    return 1
}

# has FILE TEXT...: each TEXT is a part of a line of FILE
has() {
    local file=$1 text
    shift
    for text; do
        grep -qF -- "$text" "$file" && continue
        echo "no '$text' in $file:"
        tail -n 50 "$file"
        return 1
    done
}

# lacks FILE TEXT...: none of them is; the file is there
lacks() {
    local file=$1 text
    shift
    [ -e "$file" ] || {
        echo "there is no $file"
        return 1
    }
    for text; do
        grep -qF -- "$text" "$file" || continue
        echo "'$text' in $file:"
        tail -n 50 "$file"
        return 1
    done
}

# refuses LINE TEXT...: exit code 2, and err names the sweep file's LINE and holds each TEXT
refuses() {
    exits 2
    has err "sweep.ini:$1:"
    shift
    has err "$@"
}

# refused LINE TEXT...: so it is by `check`
refused() {
    autotune check --config sweep.ini
    refuses "$@"
}

# sweep [LINE...]: a sweep file of the templates of the stand-in, of these lines or those of standard input
sweep() {
    {
        printf '[sweep]\ntemplates = templates\ntuned = results/tuned.ini\nresults = results\n'
        if [ $# -gt 0 ]; then printf '%s\n' "$@"; else cat; fi
    } >sweep.ini
    cp -r "$sweeps/templates" .
}

# template NAME FILE: a template NAME in the current folder, of the source of `scale`; its .ini is from standard input
template() {
    cp "$sweeps/templates/scale.cu" "$1.cu"
    cat >"$1.ini"
}

# npy FILE TYPE FORTRAN COUNT BYTES: an array's header, and so many zero bytes
npy() {
    local header="{'descr': '$2', 'fortran_order': $3, 'shape': ($4,), }" length
    length=$(printf %02x "${#header}")
    {
        printf '\x93NUMPY\x01\x00%b%s' "\\x$length\\x00" "$header"
        head -c "$5" /dev/zero
    } >"$1"
}

# column NAME [FILE]: that column of a CSV file (default: out), without its header
column() {
    awk -v name="$1" '
        function split_line(line,   i, c, quoted, field) {
            count = 1; quoted = 0; fields[1] = ""
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) fields[++count] = ""
                else fields[count] = fields[count] c
            }
        }
        NR == 1 { split_line($0); for (i = 1; i <= count; i++) if (fields[i] == name) at = i
                  if (!at) { print "no column " name; exit } next }
        { split_line($0); print fields[at] }' "${2:-out}"
}

# count COLUMN VALUE [FILE]: rows of the CSV with it
count() {
    column "$1" "${3:-out}" | grep -cxF -- "$2" || true
}

# rows NAME...: these columns of each row, as VALUE:VALUE, sorted, in one line
rows() {
    local name columns=()
    for name in "$@"; do
        column "$name" >"column.$name"
        columns+=("column.$name")
    done
    paste -d: "${columns[@]}" | sort | tr '\n' ' '
}

# reasons TEXT...: each TEXT is a part of the reason of a row of the CSV
reasons() {
    column reason >reasons
    has reasons "$@"
}

# equal ACTUAL EXPECTED
equal() {
    [ "$1" = "$2" ] && return
    printf 'is: %s\nexpected: %s\n' "$1" "$2"
    return 1
}

# alive: processes of this test's autotune, workers too, told by their current folder
alive() {
    local process
    for process in $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$scratch" 2>/dev/null); do
        process=${process%/cwd}
        case $(readlink "$process/exe" 2>/dev/null) in
        "$(readlink -f "$AUTOTUNE")") echo "${process#/proc/}" ;;
        esac
    done
}

# none_alive: waits up to two seconds for them to be gone
none_alive() {
    local i
    for i in $(seq 40); do
        [ -z "$(alive)" ] && return
        sleep 0.05
    done
    echo "processes left: $(alive)"
    return 1
}

# command_names: of the commands in the help
command_names() {
    "$AUTOTUNE" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# hold: a run that keeps the first GPU and the cache until $holder is killed; its locks are in locks/
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
        grep -qs "$holder" locks/* && return
        sleep 0.05
    done
    return 1
}
