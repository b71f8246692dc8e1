#!/usr/bin/env bash
# Sets autotune up on a fresh Debian or Ubuntu, builds it, and runs it or its tests. See --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build_packages=(cmake ninja-build gcc libc6-dev pkg-config
    libinih-dev libsqlite3-dev libjansson-dev libpopt-dev libxxhash-dev)
test_packages=(g++ make libcmocka-dev bats clang-format-14 shellcheck clang-14 clang-tidy-14 cppcheck
    dpkg-dev file git python3 python3-jsonschema zsh openmpi-bin libopenmpi-dev iproute2)
# For the fuzzers, where it is a package of its own.
test_extra_packages=(libclang-rt-14-dev)
wheel_packages=(python3 python3-venv)
# NVRTC, nvJitLink, cuda.h and cuda_occupancy.h, the headers that those include, and the CUDA C++ core libraries.
wheels=('nvidia-cuda-nvrtc==13.0.*' 'nvidia-nvjitlink==13.0.*' 'nvidia-cuda-runtime==13.0.*'
    'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-cccl==13.0.*')
wheels_folder=build/cuda
wheels_root=$PWD/$wheels_folder/nvidia/cu13

usage() {
    cat <<'END'
usage: ./bootstrap.sh run [ARGUMENT…]   set up, build, and tune: build/autotune --config configs/sweep.ini ARGUMENT…
       ./bootstrap.sh test              set up, build, and run every test, in the usual build and with sanitizers
       ./bootstrap.sh build             set up and build only

Works on Debian 12 and Ubuntu 22.04 and 24.04. Missing packages are installed with apt-get, as root or through
sudo; if neither works, the commands are printed and the exit status is 2. If there is no CUDA
Toolkit 12.0 or newer (in $CUDA_HOME, /usr/local/cuda or the linker's cache), NVRTC and the CUDA headers come
from NVIDIA's PyPI wheels, into build/cuda. A second run has nothing to install and starts at once.

run looks for an NVIDIA driver; without one it adds --arch sm_90: every variant is compiled and its registers
and occupancy are reported, and nothing is timed. A sweep file or template and `--arch` among the arguments take precedence.
Relative paths start at the project's folder.

Environment:
  CUDA_HOME                        the CUDA Toolkit to use
  AUTOTUNE_BOOTSTRAP_HIDE_TOOLKIT  1: act as if there were no CUDA Toolkit
END
}

say() {
    echo "bootstrap.sh: $*" >&2
}

# logged COMMAND…: its output, of hundreds of lines, goes to build/bootstrap.log
logged() {
    mkdir -p build
    "$@" >build/bootstrap.log 2>&1
}

# step WHAT COMMAND…: says WHAT, and shows the command's output if it fails
step() {
    say "$1"
    logged "${@:2}" && return
    cat build/bootstrap.log >&2
    say "$1: failed, see above"
    exit 1
}

# The build of preset $1; ninja has a line of its own on a terminal.
build_preset() {
    if [[ -t 2 ]]; then
        cmake --build --preset "$@" >&2
    else
        step "building $1" cmake --build --preset "$@"
    fi
}

# --- What is there ---------------------------------------------------------------------------------

linker_cache() { # the paths of library $1 that the dynamic linker knows
    { PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null || true; } |
        awk -v library="$1" 'index($1, library) == 1 { print $NF }'
}

is_toolkit() { # whether folder $1 has NVRTC and the headers, of CUDA 12.0 or newer
    local root=$1 header version
    for header in cuda.h nvrtc.h cuda_occupancy.h; do
        [[ -e $root/include/$header ]] || return 1
    done
    compgen -G "$root/lib*/libnvrtc.so*" >/dev/null ||
        compgen -G "$root/lib/*/libnvrtc.so*" >/dev/null ||
        compgen -G "$root/targets/*/lib/libnvrtc.so*" >/dev/null || return 1
    version=$(awk '$2 == "CUDA_VERSION" { print $3; exit }' "$root/include/cuda.h")
    ((${version:-0} >= 12000))
}

find_toolkit() { # prints the root of the system's toolkit, or nothing
    local root library
    [[ ${AUTOTUNE_BOOTSTRAP_HIDE_TOOLKIT:-} != 1 ]] || return 0
    for root in "${CUDA_HOME:-}" /usr/local/cuda; do
        if [[ -n $root ]] && is_toolkit "$root"; then
            echo "$root"
            return
        fi
    done
    while read -r library; do
        # ROOT/lib/libnvrtc.so or ROOT/lib/x86_64-linux-gnu/libnvrtc.so
        for root in "${library%/*/*}" "${library%/*/*/*}"; do
            if is_toolkit "$root"; then
                echo "$root"
                return
            fi
        done
    done < <(linker_cache libnvrtc.so)
}

has_driver() {
    local folder folders
    [[ ! -e /dev/nvidiactl ]] || return 0
    [[ -z $(linker_cache libcuda.so.1) ]] || return 0
    IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
    for folder in "${folders[@]}"; do
        [[ ! -e $folder/libcuda.so.1 ]] || return 0
    done
    return 1
}

# --- Setting up ------------------------------------------------------------------------------------

are_known() { # whether apt's lists have all of $@; those of a fresh container are empty
    local package
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

install_packages() { # those of $@ that are missing
    local package missing=() as_root=()
    if ! command -v dpkg-query >/dev/null; then
        say "no dpkg here, so install what these Debian packages hold if the build misses it: $*"
        return
    fi
    for package in "$@"; do
        if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
            missing+=("$package")
        fi
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
            say "packages are missing, and there is neither root nor sudo to install them; as root, run:"
            printf '    apt-get update\n    apt-get install --yes --no-install-recommends %s\n' "${missing[*]}" >&2
            exit 2
        fi
        as_root=(sudo)
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    local install=(apt-get install --yes --no-install-recommends "${missing[@]}")
    say "installing ${missing[*]}"
    if ! are_known "${missing[@]}" || ! logged "${as_root[@]}" "${install[@]}"; then
        step "reading apt's lists" "${as_root[@]}" apt-get update
        step "installing them" "${as_root[@]}" "${install[@]}"
    fi
}

install_wheels() {
    if is_toolkit "$wheels_root" && [[ $(cat "$wheels_folder/wheels" 2>/dev/null) == "${wheels[*]}" ]]; then
        return
    fi
    install_packages "${wheel_packages[@]}"
    say "no CUDA Toolkit found; fetching NVRTC and the CUDA headers from PyPI into $wheels_folder"
    # pip of an environment of its own: Debian's refuses to install anything outside of one.
    rm -rf build/venv "$wheels_folder" "$wheels_folder.part"
    mkdir -p build
    /usr/bin/python3 -m venv build/venv
    build/venv/bin/pip install --quiet --disable-pip-version-check --only-binary :all: \
        --target "$wheels_folder.part" "${wheels[@]}" >&2
    echo "${wheels[*]}" >"$wheels_folder.part/wheels"
    mv "$wheels_folder.part" "$wheels_folder"
    rm -rf build/venv
    if ! is_toolkit "$wheels_root"; then
        say "the wheels ${wheels[*]} do not hold NVRTC and its headers where they are expected, below $wheels_root"
        exit 1
    fi
}

# Packages and configuration for $1 (run or test), unless a stamp says that they are as this script wants them.
# A set-up for test serves run as well.
set_up() {
    local purpose=$1 toolkit root state done_state packages=("${build_packages[@]}") testing=OFF
    toolkit=$(find_toolkit)
    root=${toolkit:-$wheels_root}
    state="$(cksum <bootstrap.sh) $root $(readlink -m "$root")"
    if [[ -z $toolkit ]]; then
        # The linker's cache may still have the library of a toolkit that is hidden, too old or without headers.
        export AUTOTUNE_NVRTC="${AUTOTUNE_NVRTC:-$wheels_root/lib/libnvrtc.so.13}"
    fi
    for done_state in "test $state" "$purpose $state"; do
        if [[ -e build/build.ninja && -e $root/include/cuda.h &&
            $(cat build/bootstrap.stamp 2>/dev/null) == "$done_state" ]]; then
            return
        fi
    done
    if [[ $purpose == test ]]; then
        packages+=("${test_packages[@]}")
        testing=ON
    fi
    install_packages "${packages[@]}"
    if [[ $purpose == test ]] && are_known "${test_extra_packages[@]}"; then
        install_packages "${test_extra_packages[@]}"
    fi
    [[ -n $toolkit ]] || install_wheels
    step "configuring for $root" cmake --preset default -DBUILD_TESTING=$testing -DAUTOTUNE_CUDA_ROOT="$root" \
        -DAUTOTUNE_WERROR=$testing
    if [[ $purpose == test ]]; then
        step "configuring asan" cmake --preset asan -DAUTOTUNE_CUDA_ROOT="$root"
        step "configuring tsan" cmake --preset tsan -DAUTOTUNE_CUDA_ROOT="$root"
    fi
    echo "$purpose $state" >build/bootstrap.stamp
}

# Builds what is installed: autotune and the libraries. Prints nothing if they were built before and still build.
build_autotune() {
    if [[ ! -e build/autotune ]]; then
        build_preset default --target shipped
    elif ! logged cmake --build --preset default --target shipped; then
        cat build/bootstrap.log >&2
        exit 1
    fi
}

# --- Commands --------------------------------------------------------------------------------------

run() {
    local argument options=(--config configs/sweep.ini) arch=given
    has_driver || arch=missing
    for argument in "$@"; do
        case $argument in
        *.ini | --config | --config=* | --template | --template=*) options=() ;;
        --arch | --arch=*) arch=given ;;
        esac
    done
    if [[ $arch == missing ]]; then
        say "no NVIDIA driver here; adding --arch sm_90: variants are compiled and reported, not timed"
        options+=(--arch sm_90)
    fi
    set_up run
    build_autotune
    exec build/autotune "${options[@]}" "$@"
}

test_all() {
    local jobs preset status=0
    set_up test
    build_preset default --target usual
    for preset in asan tsan; do
        build_preset "$preset"
    done
    jobs=$(($(nproc) + 3)) # many tests wait for deadlines
    export AUTOTUNE_TEST_CUBINS=$PWD/build/tests/cubin # what tests of one build compile serves those of the others
    for preset in asan tsan; do
        ctest --preset "$preset" -j "$jobs" || status=$?
    done
    if ((status)); then
        say "tests of a sanitizer build failed, see above; now the others, in the usual build"
    fi
    ctest --preset default --label-exclude '^sanitized_only$' -j "$jobs" || status=$?
    return "$status"
}

case ${1:-} in
run)
    shift
    run "$@"
    ;;
test | build)
    if (($# > 1)); then
        say "'$1' takes no arguments; see ./bootstrap.sh --help"
        exit 2
    fi
    if [[ $1 == test ]]; then
        test_all
    else
        set_up run
        build_autotune
    fi
    ;;
--help | -h)
    usage
    ;;
'')
    usage >&2
    exit 2
    ;;
*)
    say "unknown command '$1'; it is run, test or build"
    exit 2
    ;;
esac
