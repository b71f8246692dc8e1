#!/usr/bin/env bats
# The cache of compiled variants: `autotune cache`, its limit, and runs that share it.
load helper

# age DAYS FILE...: as if it was last used so many days ago
age() {
    local days=$1
    shift
    touch -d "$days days ago" "$@"
}

# filler NUMBER KIB DAYS: an entry by its name, of that size, used so many days ago
filler() {
    local key
    key=$(printf '%02x%030x' "$1" "$1")
    mkdir -p "cache/cubin/${key:0:2}"
    head -c $(($2 * 1024)) /dev/zero >"cache/cubin/${key:0:2}/$key"
    age "$3" "cache/cubin/${key:0:2}/$key"
}

entries() {
    find cache/cubin -type f ! -name size | wc -l
}

@test "the cache is shown" {
    expect 0 cache
    diff out - <<END
folder   $scratch/cache/cubin
entries  0
size     0.0 MiB
limit    2048 MiB
END
    [ ! -e cache/cubin ]
    filler 1 1024 3
    filler 2 512 40
    AUTOTUNE_CACHE_MB=100 autotune cache
    exits 0
    diff out - <<END
folder   $scratch/cache/cubin
entries  2
size     1.5 MiB
limit    100 MiB
oldest   last used $(date -d '40 days ago' '+%Y-%m-%d %H:%M')
END
    expect 2 cache all
}

@test "--clear removes the entries and nothing else" {
    expect 0 --config "$sweeps/scale.ini"
    rm -rf cache/cubin/ab
    mkdir -p other cache/cubin/01
    foreign="other/ab000000000000000000000000000001 cache/notes.txt cache/cubin/notes.txt cache/cubin/01/notes.txt"
    for file in $foreign; do
        echo mine >"$file"
    done
    count=$(entries)
    ln -s ../../other cache/cubin/ab
    ln -s ../../../other/ab000000000000000000000000000001 cache/cubin/01/01000000000000000000000000000001
    expect 0 cache --clear
    has out "removed $((count - 2)) entries, " "from $scratch/cache/cubin"
    equal "$(entries)" 2
    for file in $foreign cache/cubin/ab/ab000000000000000000000000000001 \
        cache/cubin/01/01000000000000000000000000000001; do
        equal "$(cat "$file")" mine
    done
    autotune cache
    has out "entries  0"
    rm cache/cubin/ab
    expect 0 --config "$sweeps/scale.ini" --remeasure # compiles all of it again
    [ "$(entries)" -ge "$count" ]
}

@test "a run that compiles keeps the limit; those used longest ago go first" {
    export AUTOTUNE_CACHE_MB=2
    filler 1 512 5
    filler 2 512 1
    filler 3 512 9
    filler 4 512 7
    echo >cache/cubin/03/03000000000000000000000000000003.0123456789abcdef.tmp
    age 2 cache/cubin/03/03000000000000000000000000000003.0123456789abcdef.tmp
    expect 0 --config "$sweeps/scale.ini"
    equal "$(cd cache/cubin && ls -d 0[1-4]/0?0000*)" "$(printf '%s\n' 01/01000000000000000000000000000001 \
        02/02000000000000000000000000000002 04/04000000000000000000000000000004)"
    autotune cache
    has out "limit    2 MiB"
    [ "$(awk '/^size/ { print ($2 >= 1.5 && $2 <= 1.8) }' out)" = 1 ]
}

@test "a run that finds everything compiled removes nothing, and marks what it used" {
    expect 0 --config "$sweeps/scale.ini"
    count=$(entries)
    find cache/cubin -type f ! -name size -exec touch -d '9 days ago' {} +
    filler 1 3000 8
    AUTOTUNE_CACHE_MB=1 autotune --config "$sweeps/scale.ini" --remeasure
    exits 0
    equal "$(entries)" $((count + 1))
    equal "$(find cache/cubin -type f ! -name size -mmin -10 | wc -l)" "$count"
    # the next one that compiles, and looks, removes the filler alone
    rm cache/cubin/size
    AUTOTUNE_CACHE_MB=1 autotune --config "$sweeps/scale.ini" --arch sm_80
    exits 0
    [ ! -e cache/cubin/01/01000000000000000000000000000001 ]
    [ "$(entries)" -gt "$count" ]
}

@test "nothing is removed while another run uses the cache; a killed run does not count" {
    export AUTOTUNE_CACHE_MB=1
    filler 1 3000 8
    hold
    expect 0 --config "$sweeps/scale.ini" --arch sm_80
    [ -e cache/cubin/01/01000000000000000000000000000001 ]
    expect 4 cache --clear
    has err "a run is using the cubin cache"
    [ -e cache/cubin/01/01000000000000000000000000000001 ]
    kill -KILL "$holder"
    wait "$holder" || true
    none_alive
    expect 0 --config "$sweeps/scale.ini" --arch sm_75
    [ ! -e cache/cubin/01/01000000000000000000000000000001 ]
}

@test "runs that begin and end together keep the limit, and find what they need" {
    export AUTOTUNE_CACHE_MB=1
    for i in $(seq 16); do
        filler "$i" 500 "$i"
    done
    for arch in 75 80 90; do
        "$AUTOTUNE" --config "$sweeps/scale.ini" --arch sm_$arch --results r$arch >out$arch 2>err$arch </dev/null &
        runs="${runs:-} $!"
    done
    for run in $runs; do
        wait "$run"
    done
    equal "$(cat err?? | grep -c cache || true)" 0
    autotune cache # the last to end has kept the limit
    [ "$(awk '/^size/ { print ($2 <= 1) }' out)" = 1 ]
    [ ! -e cache/cubin/10/10000000000000000000000000000010 ]
}

@test "a limit that is not a number is refused before anything runs" {
    for limit in 0 none -5; do
        AUTOTUNE_CACHE_MB=$limit autotune --config "$sweeps/scale.ini"
        exits 2
        has err "AUTOTUNE_CACHE_MB is '$limit'"
        AUTOTUNE_CACHE_MB=$limit autotune cache
        exits 2
    done
    [ ! -e results ]
}
