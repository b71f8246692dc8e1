"""Tuned CUDA kernels from Python, on autotune's C libraries.

    tuned = autotune.load("results/tuned.ini")             # look-ups: rule, loss, parameters, -D list
    match = tuned.find("reduce_sum", n=5_000_000, value_type="float")

    kernels = autotune.kernels("bundle")                   # binaries, no compiler
    kernels["reduce_sum"](x, out, n=x.size, value_type="float", stream=s)

    rows = autotune.tune("sweep.ini", budget="60s")        # runs the program `autotune`
"""

from ._arrays import Pointer
from ._kernels import Buffer, Kernel, Kernels, Launch, Prepared, kernels
from ._library import Error, Gpu, NotFound
from ._lookup import Match, Table, load
from ._program import DATA, Rows, program, tune

__version__ = "0.1.0"
__all__ = ["Buffer", "DATA", "Error", "Gpu", "Kernel", "Kernels", "Launch", "Match", "NotFound", "Pointer", "Prepared",
           "Rows", "Table", "kernels", "load", "program", "tune"]
