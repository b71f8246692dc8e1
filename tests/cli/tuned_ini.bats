#!/usr/bin/env bats
# The tuned INI that a user has, with notes, keys of a newer autotune and damaged sections, when it is read or updated.
load helper
shared_cubins=1

tuned_once() {
    expect 0 --config "$sweeps/scale.ini"
}

@test "one bad section costs itself alone: it is named, and left as it was" {
    tuned_once
    printf '\n[my 1]\nkernel = my-kernel\nsamples = 3\n' >>results/tuned.ini
    cp results/tuned.ini before
    expect 0 --config "$sweeps/scale.ini" --remeasure
    has err "results/tuned.ini:" "section 'my 1' is skipped" "'my-kernel' of key 'kernel' is not a lower-case name"
    has results/tuned.ini "[my 1]" "kernel = my-kernel"
    expect 0 explain --kernel scale --arch sm_90 --n 2^14
    has err "a section is skipped: 'my-kernel' of key 'kernel'"
    expect 0 compare before results/tuned.ini
    has err "section 'my 1' is skipped"
    expect 0 merge before results/tuned.ini --output both.ini
    has both.ini "[my 1]"
    equal "$(grep -c '^kernel = scale' both.ini)" 1
}

@test "merge keeps a section that is skipped beside an entry of its name, once" {
    tuned_once
    sed -n '/^\[/,$s/^problem.n = .*/problem.n = 7/p;/^\[/,$p' results/tuned.ini >twice
    cp results/tuned.ini twice.ini
    cat twice >>twice.ini # the same section's name, for another problem
    expect 0 merge twice.ini results/tuned.ini --output both.ini
    has err "is given twice"
    equal "$(grep -c '^kernel = scale' both.ini)" 2
    expect 0 merge both.ini twice.ini --output both.ini
    equal "$(grep -c '^kernel = scale' both.ini)" 2
}

@test "comments and keys of a newer autotune survive an update and a merge" {
    tuned_once
    sed -i 's/^samples = .*/& ; enough\n; why this one won\nnewer_key = 5/' results/tuned.ini
    expect 0 --config "$sweeps/scale.ini" --remeasure
    has results/tuned.ini "; enough" "; why this one won" "newer_key = 5"
    expect 0 merge results/tuned.ini --output merged.ini
    cmp results/tuned.ini merged.ini
}

@test "a tuned INI that cannot be read or written is found before anything is compiled or measured" {
    mkdir folder.ini
    echo "[mine]" >foreign.ini
    for tuned in foreign.ini folder.ini foreign.ini/tuned.ini; do
        autotune --config "$sweeps/scale.ini" --tuned "$tuned"
        [ "$code" -ne 0 ]
        has err "${tuned%/*}"
        [ ! -e results ]
    done
}
