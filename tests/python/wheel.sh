#!/usr/bin/env bash
# The wheel, built as a person builds it, in an empty virtual environment in which nothing else can be found: no compiler,
# no toolkit, no variable. Exit status 77, with the reason, where PyPI cannot be reached.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! { python3 -m venv "$work/v" &&
    "$work/v/bin/pip" download --quiet --no-deps --dest "$work/net" 'nvidia-cuda-crt==13.0.*'; } >"$work/output" 2>&1; then
    echo "skipped: no virtual environment, or no packages: $(tail -n 1 "$work/output")"
    exit 77
fi
before=$(git -C "$SOURCE_DIR" status --porcelain 2>/dev/null || true)
# what is tested is the packaging, so the code need not be fast
(cd "$SOURCE_DIR" && "$work/v/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/dist" \
    --config-settings='cmake.args=-DBUILD_TESTING=OFF;-DAUTOTUNE_MPI=OFF;-DCMAKE_INSTALL_LIBDIR=lib;-DCMAKE_C_FLAGS_RELEASE=-O0' .)
[ "$before" = "$(git -C "$SOURCE_DIR" status --porcelain 2>/dev/null || true)" ]
"$work/v/bin/pip" install --quiet "$work"/dist/*.whl

mkdir "$work/any"
cd "$work/any"
printf '[sweep]\n[reduce_sum]\nn = 2^20\nblock_size = 256, 512\n' >sweep.ini
alone=(env -i "HOME=$work/any")
"${alone[@]}" "$work/v/bin/autotune" --arch sm_90 --config sweep.ini | tee "$work/output"
grep -q '2 compiled$' "$work/output"
# a symbolic link finds templates, NVRTC, nvJitLink and headers, too
ln -s "$work"/v/lib/python3*/site-packages/autotune/bin/autotune linked
"${alone[@]}" ./linked emit --kernel filter --cubin --output filter.cubin
cat >use.py <<'PYTHON'
import autotune, subprocess
tuned = autotune.load(autotune.DATA / "published/tuned.ini")
match = tuned.find("reduce_sum", n=5_000_000, value_type="float", gpu=autotune.Gpu("NVIDIA H200", 90))
assert match.rule == "same GPU, nearest size" and match["block_size"] > 0, match
try:
    autotune.kernels(autotune.DATA / "published/tuned.ini", templates=autotune.DATA / "kernel_templates")
except autotune.Error as error: # that library works, too
    assert error.code == -5, error
assert autotune.tune("sweep.ini", arch="sm_90").studies[0]["kernel"] == "reduce_sum"
assert subprocess.check_output(["./linked", "--version"], text=True) == f"autotune {autotune.__version__}\n"
PYTHON
"${alone[@]}" "$work/v/bin/python" -W error use.py
