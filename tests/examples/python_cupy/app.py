"""Norms of rows with CuPy's arrays, by a kernel that is tuned for this GPU: python app.py, in this folder."""

import subprocess
from pathlib import Path

import autotune
import cupy as cp


def make_bundle():
    """Tunes once; an application ships the folder bundle, and then needs no compiler."""
    for row in autotune.tune("sweep.ini", budget="60s"):
        print(row["kernel"], row["parameters"], f"{row['median_ns'] / 1000:.1f} us")
    subprocess.run([autotune.program(), "bundle", "--templates", ".", "--output", "bundle"], check=True)


def microseconds(function):
    times = cp.cuda.Event(), cp.cuda.Event()
    function()
    times[0].record()
    for _ in range(20):
        function()
    times[1].record()
    times[1].synchronize()
    return cp.cuda.get_elapsed_time(*times) / 20 * 1000


if not Path("bundle").exists():
    make_bundle()
x = cp.random.standard_normal((20_000, 3_000), dtype=cp.float32)
out = cp.empty(x.shape[0], cp.float32)
with autotune.kernels("bundle") as kernels:
    run = kernels["row_norm"].prepare(x, out, rows=x.shape[0], columns=x.shape[1])
    run()
    cp.testing.assert_allclose(out, cp.linalg.norm(x, axis=1), rtol=1e-5)
    print(f"{run.match.rule}, from the {run.origin}: {microseconds(run):.1f} us, "
          f"CuPy {microseconds(lambda: cp.linalg.norm(x, axis=1)):.1f} us")
