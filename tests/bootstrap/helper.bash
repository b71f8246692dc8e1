# A machine of any sort for bootstrap.sh: a folder of stand-ins first on PATH. dpkg-query knows the packages in the file
# `installed`, apt-get and cmake write down how they were called, and ldconfig prints the file `linker_cache`.

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

all_installed() { # the packages that bootstrap.sh wants
    (
        # shellcheck source=/dev/null
        source <(sed -n '/^[a-z_]*packages=(/,/)$/p' "$tree/bootstrap.sh")
        printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${test_extra_packages[@]}" "${wheel_packages[@]}"
    ) >"$machine/installed"
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
