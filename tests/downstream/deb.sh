#!/usr/bin/env bash
# The Debian packages of a build: what is in them, and that they install, work and leave nothing behind:
#     tests/downstream/deb.sh BUILD
# Exit status 77 where there is no dpkg.
set -euo pipefail

build=$(realpath "${1:?usage: deb.sh BUILD}")
for tool in dpkg dpkg-deb dpkg-shlibdeps cpack; do
    command -v "$tool" >/dev/null || { echo "no $tool" && exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export AUTOTUNE_CACHE=$work/cache
cd "$work"

(cd "$build" && cpack -G DEB -B "$work/made" >"$work/log" 2>&1) || { cat log && exit 1; }
mv made/*.deb .
package=$(echo autotune_*.deb)

dpkg-deb -I "$package" >information
grep '^ Depends: libc6 .*libinih1 .*libjansson4 .*libxxhash' information
if grep -E 'openmpi|mpich|sqlite|popt' information; then exit 1; fi # archives, or in autotune-mpi
for mpi in autotune-mpi_*.deb; do
    [ ! -e "$mpi" ] || dpkg-deb -f "$mpi" Depends | grep '^autotune (= .*mpi'
done

# Everything that `cmake --install` installs, and nothing else.
cmake --install "$build" --prefix "$work/prefix" >log
(cd prefix && find . ! -type d ! -name autotune-mpi) | sort >installed
dpkg-deb --fsys-tarfile "$package" | tar -t | grep -v '/$' | sed 's,^\./usr/,./,' | sort >packed
diff installed packed
for file in ./bin/autotune ./include/autotune/tuned.h ./lib/pkgconfig/tuned.pc ./share/man/man1/autotune.1 \
    ./share/doc/autotune/copyright ./share/autotune/configs/sweep.ini ./share/bash-completion/completions/autotune; do
    grep -qx -e "$file" packed
done

# In a root of its own, as dpkg does it.
mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/var/lib/dpkg/triggers
touch root/var/lib/dpkg/status root/var/lib/dpkg/available
find root ! -type d | sort >before
into_root() {
    dpkg --root="$work/root" --force-not-root --force-depends --force-script-chrootless --log=/dev/null "$@" >log 2>&1 ||
        { cat log && exit 1; }
}
into_root -i "$package"
root/usr/bin/autotune emit --kernel reduce_sum >source
grep -q '^#line 1 ".*/root/usr/share/autotune/kernel_templates/reduce.cu"' source
root/usr/bin/autotune explain --kernel reduce_sum --tuned root/usr/share/autotune/published/tuned.ini \
    --gpu "NVIDIA H200" --n 2^24 | grep 'same GPU'
root/usr/bin/autotune check root/usr/share/autotune/configs/sweep.ini | grep '^reduce_sum'
if root/usr/bin/autotune explain --kernel reduce_sum --gpu "NVIDIA H200" --n 2^24 2>log; then exit 1; fi
grep 'no tuned INI yet' log # the project's is read only if it is named
into_root -r autotune
find root ! -type d ! -path '*/var/lib/dpkg/*' | sort >left
[ ! -s left ] || { cat left && exit 1; }
