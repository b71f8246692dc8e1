"""y = a x + y with a tuned kernel and CuPy's arrays: python saxpy.py BUNDLE"""

import sys

import autotune
import cupy as cp

n = 5_000_000
x = cp.arange(n, dtype=cp.float32) % 1000
y = x.copy()
with autotune.kernels(sys.argv[1]) as kernels:  # compiles nothing on a GPU that was tuned
    kernels["saxpy"](x, y, n=n, a=3.0)
wrong = int((y != 4 * x).sum())
print(f"n = {n}: {wrong} elements wrong")
sys.exit(wrong != 0)
