#!/usr/bin/env bats
# bootstrap.sh on machines of all sorts. The machine is a folder of stand-ins first on PATH: dpkg-query knows the
# packages in the file `installed`, apt-get and cmake write down how they were called, and ldconfig prints the
# file `linker_cache`.

setup() {
    scratch=$(mktemp -d) # bats 1.2, of Ubuntu 22.04, has no BATS_TEST_TMPDIR
    tree=$scratch/tree
    machine=$scratch/machine
    mkdir -p "$tree" "$machine"
    cp "$BATS_TEST_DIRNAME/../../bootstrap.sh" "$tree"
    : >"$machine/calls"
    : >"$machine/linker_cache"
    stand_in dpkg-query 'grep -qx -- "${!#}" "$machine/installed" && echo installed'
    stand_in ldconfig 'cat "$machine/linker_cache"'
    stand_in apt-cache 'exit 0'
    stand_in apt-get 'echo "apt-get $*" >>"$machine/calls"
        [[ $1 == update ]] || printf "%s\n" "${@:2}" >>"$machine/installed"'
    # Configuring makes build.ninja, and building makes an autotune that prints its arguments.
    stand_in cmake 'echo "cmake $*" >>"$machine/calls"
        mkdir -p build
        if [[ $1 == --preset ]]; then
            touch build/build.ninja
        else
            printf "#!/bin/sh\necho autotune \"\$@\"\n" >build/autotune
            chmod +x build/autotune
        fi'
    stand_in ctest 'echo "closing lines of $2"; ! grep -qx "$2 fails" "$machine/installed"'
    all_installed
    PATH=$machine:$PATH
    export machine
    export CUDA_HOME=$scratch/toolkit
    make_toolkit "$CUDA_HOME" 13000
    unset AUTOTUNE_NVRTC AUTOTUNE_BOOTSTRAP_HIDE_TOOLKIT
}

teardown() {
    rm -rf "$scratch"
}

stand_in() { # command $1 that does $2
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$machine/$1"
    chmod +x "$machine/$1"
}

all_installed() {
    printf '%s\n' cmake ninja-build gcc libc6-dev pkg-config libinih-dev liblua5.4-dev libsqlite3-dev \
        libjansson-dev libpopt-dev libxxhash-dev g++ make libcmocka-dev bats clang-format-14 shellcheck \
        clang-14 clang-tidy-14 cppcheck libclang-rt-14-dev python3-jsonschema zsh python3 python3-venv >"$machine/installed"
}

make_toolkit() { # in folder $1, of CUDA_VERSION $2
    mkdir -p "$1/include" "$1/lib"
    touch "$1/include/nvrtc.h" "$1/include/cuda_occupancy.h" "$1/lib/libnvrtc.so.13"
    echo "#define CUDA_VERSION $2" >"$1/include/cuda.h"
}

with_driver() {
    mkdir -p "$scratch/driver"
    touch "$scratch/driver/libcuda.so.1"
    export LD_LIBRARY_PATH=$scratch/driver
}

without_driver() {
    [[ ! -e /dev/nvidiactl ]] || skip "this machine has an NVIDIA driver"
    unset LD_LIBRARY_PATH
}

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
    [ "$(cat "$machine/calls")" = "cmake --build --preset default --target autotune" ]
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

@test "sudo installs where it may" {
    sed -i '/^gcc$/d' "$machine/installed"
    ((EUID == 0)) || skip "needs root to become somebody else"
    chmod -R a+rwX "$scratch"
    stand_in sudo 'echo sudo >>"$machine/calls"; [[ $1 == -n ]] || exec "$@"'
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$tree/bootstrap.sh" build
    [ "$status" -eq 0 ]
    grep -A1 -x sudo "$machine/calls" | grep -q 'apt-get install .* gcc'
}

@test "without a driver run says so and adds --arch sm_90" {
    without_driver
    run "$tree/bootstrap.sh" run --quiet
    [ "$status" -eq 0 ]
    [[ $output == *"no NVIDIA driver"* ]]
    [ "${lines[-1]}" = "autotune --config configs/sweep.ini --arch sm_90 --quiet" ]
}

@test "a driver is found in the linker's cache" {
    without_driver
    printf '\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1\n' >"$machine/linker_cache"
    run "$tree/bootstrap.sh" run
    [ "${lines[-1]}" = "autotune --config configs/sweep.ini" ]
}

@test "the user's --arch and --config take precedence" {
    unset LD_LIBRARY_PATH
    for option in "--arch sm_80" "--arch=sm_80"; do
        # shellcheck disable=SC2086
        run "$tree/bootstrap.sh" run $option --config mine.ini
        [ "$status" -eq 0 ]
        [ "${lines[-1]}" = "autotune $option --config mine.ini" ]
    done
}

@test "a toolkit is found through the linker's cache" {
    [[ ! -e /usr/local/cuda ]] || skip "this machine has a CUDA Toolkit in /usr/local/cuda"
    printf '\tlibnvrtc.so.13 (libc6,x86-64) => %s/lib/libnvrtc.so.13\n' "$CUDA_HOME" >"$machine/linker_cache"
    root=$CUDA_HOME
    unset CUDA_HOME
    "$tree/bootstrap.sh" build
    grep -q -- "-DAUTOTUNE_CUDA_ROOT=$root" "$machine/calls"
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
