#!/usr/bin/env bash
# The pages of the shipped kernels, from the records that tests/gpu/families.sh left; needs no GPU:
#     tests/gpu/pages.sh BUILD RESULTS [FAMILY…]
# BUILD is a build folder. RESULTS holds a folder with a record for each family (default: all that are there).
# A page for each kernel goes to RESULTS/<gpu>/, for barriers and the ladder one of them all. Each must have its charts,
# measured roofs if any, and stay near 1 MiB.
set -eu

build=$(realpath "${1:?usage: tests/gpu/pages.sh BUILD RESULTS [FAMILY…]}")
results=$(realpath "${2:?usage: tests/gpu/pages.sh BUILD RESULTS [FAMILY…]}")
source=$(realpath "$(dirname "$0")/../..")
families=("${@:3}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The options that choose the kernels of a sweep.
kernels_of() {
    sed -n 's/^\[\(.*\)\]$/\1/p' "$source/configs/$1.ini" | grep -vx sweep | sed 's/^/--kernel=/'
}

make_pages() {
    local kernels
    mapfile -t kernels < <(kernels_of "$1")
    "$build/autotune" report --results "$results/$1" "${kernels[@]}" --format html --output "$scratch/pages/"
    case $1 in
    grid_barrier | published_ladder)
        local folder
        folder=$(echo "$scratch"/pages/*)
        rm "$folder"/*.html
        "$build/autotune" report --results "$results/$1" "${kernels[@]}" --format html --output "$folder/$1.html"
        ;;
    esac
}

check() { # PAGE
    if grep -q theoretical "$1"; then
        echo "$1: a theoretical roof"
    elif ! grep -q '<svg class="plot"' "$1"; then
        echo "$1: no chart"
    elif [ "$(stat -c %s "$1")" -gt 1310720 ]; then
        echo "$1: $(stat -c %s "$1") bytes"
    else
        return 0
    fi
    return 1
}

if [ ${#families[@]} -eq 0 ]; then
    for record in "$results"/*/record.sqlite; do
        family=$(basename "$(dirname "$record")")
        [ ! -e "$source/configs/$family.ini" ] || families+=("$family")
    done
fi
for family in "${families[@]}"; do
    rm -rf "$scratch/pages"
    make_pages "$family"
    for page in "$scratch"/pages/*/*.html; do
        check "$page"
    done
    cp -r "$scratch/pages/." "$results/"
done
