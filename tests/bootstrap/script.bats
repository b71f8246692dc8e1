#!/usr/bin/env bats
# bootstrap.sh on machines of all sorts.
load helper

# As a user who is neither root nor may use sudo.
unprivileged() {
    chmod -R a+rwX "$scratch"
    stand_in sudo 'exit 1'
    if ((EUID == 0)); then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@" </dev/null
    else
        "$@" </dev/null
    fi
}

@test "--help tells the commands and the variables" {
    run "$tree/bootstrap.sh" --help
    [ "$status" -eq 0 ]
    [[ $output == *"bootstrap.sh run"*"bootstrap.sh test"*"AUTOTUNE_BOOTSTRAP_HIDE_TOOLKIT"* ]]
}

@test "a wrong command ends with 2 and does nothing" {
    for arguments in '' 'tune' 'test -V' 'build all'; do
        # shellcheck disable=SC2086
        run "$tree/bootstrap.sh" $arguments
        [ "$status" -eq 2 ]
        [ ! -s "$machine/calls" ]
    done
}

@test "run installs exactly what is missing, configures, builds and tunes" {
    with_driver
    sed -i -E '/^(libpopt-dev|ninja-build|bats)$/d' "$machine/installed"
    run "$tree/bootstrap.sh" run
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "autotune --config configs/sweep.ini" ]
    [ "$(grep apt-get "$machine/calls")" = \
        "apt-get install --yes --no-install-recommends ninja-build libpopt-dev" ]
    grep -q -- "cmake --preset default -DBUILD_TESTING=OFF -DAUTOTUNE_CUDA_ROOT=$CUDA_HOME" "$machine/calls"
}

@test "a line for each step, and the whole output of one that fails" {
    sed -i -E '/^libpopt-dev$/d' "$machine/installed"
    stand_in apt-get 'echo "apt-get $*" >>"$machine/calls"; seq 100'
    make_noise='seq 400 >&2; [[ $1 != --build || ! -e $machine/broken ]] || { echo "FAILED: x.o"; exit 1; }'
    sed -i "2i $make_noise" "$machine/cmake"
    run "$tree/bootstrap.sh" build
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 3 ] # installing, configuring, building
    touch "$machine/broken"
    rm "$tree/build/autotune"
    run "$tree/bootstrap.sh" build
    [ "$status" -eq 1 ]
    [[ $output == *$'\n400\n'*"FAILED: x.o"*"failed, see above" ]]
}

@test "apt-get update comes first where apt knows no packages" {
    stand_in apt-cache 'exit 100'
    sed -i '/^gcc$/d' "$machine/installed"
    run "$tree/bootstrap.sh" build
    [ "$status" -eq 0 ]
    [ "$(grep -o 'apt-get [a-z]*' "$machine/calls" | tr '\n' ' ')" = "apt-get update apt-get install " ]
}

@test "a second run neither checks packages nor configures" {
    with_driver
    "$tree/bootstrap.sh" run
    : >"$machine/calls"
    stand_in dpkg-query 'echo dpkg-query >>"$machine/calls"'
    run "$tree/bootstrap.sh" run
    [ "$status" -eq 0 ]
    [ "$output" = "autotune --config configs/sweep.ini" ]
    [ "$(cat "$machine/calls")" = "cmake --build --preset default --target shipped" ]
}

@test "after run, cmake --install finds everything that it installs" {
    local file files
    ninja -C "$BUILD_DIR" -t query shipped >"$scratch/built"
    files=$(sed -n "s|.* FILES \"$BUILD_DIR/\([^\"]*\)\".*|\1|p" "$BUILD_DIR/cmake_install.cmake" \
        "$BUILD_DIR/tuner/library/cmake_install.cmake" | grep -vE '\.(pc|cmake)$')
    # autotune, two libraries of two kinds, and autotune-mpi where there is an MPI
    [ "$(grep -vxc autotune-mpi <<<"$files")" -eq 5 ]
    for file in $files; do
        grep -qx " *$file" "$scratch/built"
    done
    "$tree/bootstrap.sh" build
    grep -qx "cmake --build --preset default --target shipped" "$machine/calls"
}

@test "an mpicc without the headers of its MPI is no MPI, and does not stop the build" {
    stand_in mpicc '[[ $1 == -show* ]] && echo "gcc -I/nowhere/include -lmpi" && exit 0
        exec gcc -I/nowhere/include "$@"'
    run /usr/bin/cmake -S "$BATS_TEST_DIRNAME/../.." -B "$scratch/build" -G Ninja -DBUILD_TESTING=OFF \
        -DAUTOTUNE_CUDA_ROOT="$(sed -n 's/^AUTOTUNE_CUDA_ROOT:[A-Z]*=//p' "$BUILD_DIR/CMakeCache.txt")"
    [ "$status" -eq 0 ]
    [[ $output == *"mpicc finds no mpi.h; install the MPI's -dev package for autotune-mpi"* ]]
    run grep "autotune-mpi:" "$scratch/build/build.ninja"
    [ "$status" -eq 1 ]
}

@test "another toolkit, and another bootstrap.sh, set up again" {
    "$tree/bootstrap.sh" build
    make_toolkit "$scratch/other" 12080
    : >"$machine/calls"
    CUDA_HOME=$scratch/other "$tree/bootstrap.sh" build
    grep -q -- "-DAUTOTUNE_CUDA_ROOT=$scratch/other" "$machine/calls"
    echo '# changed' >>"$tree/bootstrap.sh"
    : >"$machine/calls"
    CUDA_HOME=$scratch/other "$tree/bootstrap.sh" build
    grep -q -- "--preset default -D" "$machine/calls"
}

@test "a user who cannot install gets the commands and status 2" {
    sed -i -E '/^(gcc|libinih-dev)$/d' "$machine/installed"
    run unprivileged "$tree/bootstrap.sh" run
    [ "$status" -eq 2 ]
    [[ $output == *"    apt-get update"*"    apt-get install --yes --no-install-recommends gcc libinih-dev" ]]
    [ ! -s "$machine/calls" ]
}

@test "the user's --arch and --config take precedence" {
    unset LD_LIBRARY_PATH
    for option in "--arch sm_80" "--arch=sm_80"; do
        # shellcheck disable=SC2086
        run "$tree/bootstrap.sh" run $option --config mine.ini
        [ "$status" -eq 0 ]
        [ "${lines[-1]}" = "autotune $option --config mine.ini" ]
        # shellcheck disable=SC2086
        run "$tree/bootstrap.sh" run mine.ini $option
        [ "${lines[-1]}" = "autotune mine.ini $option" ]
    done
}

have_wheels() {
    make_toolkit "$tree/build/cuda/nvidia/cu13" 13000
    # shellcheck source=/dev/null
    source <(sed -n "/^wheels=/,/)$/p" "$tree/bootstrap.sh")
    echo "${wheels[*]}" >"$tree/build/cuda/wheels"
}

@test "a hidden toolkit is none: the wheels' folder is used" {
    have_wheels
    AUTOTUNE_BOOTSTRAP_HIDE_TOOLKIT=1 "$tree/bootstrap.sh" build
    grep -q -- "-DAUTOTUNE_CUDA_ROOT=$tree/build/cuda/nvidia/cu13" "$machine/calls"
}

@test "a toolkit older than 12.0 is passed over" {
    have_wheels
    make_toolkit "$CUDA_HOME" 11080
    "$tree/bootstrap.sh" build
    root=$(grep -o -- '-DAUTOTUNE_CUDA_ROOT=[^ ]*' "$machine/calls")
    [ -n "$root" ]
    [ "$root" != "-DAUTOTUNE_CUDA_ROOT=$CUDA_HOME" ]
}

@test "test sets up for tests and ends with ctest's closing lines" {
    run "$tree/bootstrap.sh" test
    [ "$status" -eq 0 ]
    grep -q -- "--preset default -DBUILD_TESTING=ON" "$machine/calls"
    [ "${lines[-3]}" = "closing lines of asan" ]
    [ "${lines[-2]}" = "closing lines of tsan" ]
    [ "${lines[-1]}" = "closing lines of default" ]
}

@test "test fails where one run of the tests fails, and runs all" {
    for preset in asan tsan default; do
        all_installed
        echo "$preset fails" >>"$machine/installed"
        run "$tree/bootstrap.sh" test
        [ "$status" -ne 0 ]
        [[ $output == *"closing lines of asan"*"closing lines of tsan"* ]]
        [ "${lines[-1]}" = "closing lines of default" ]
    done
}
