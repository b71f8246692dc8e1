"""Runs Kernel Tuner on the space of configs/bench_num_load.ini, for tests/bench/tuner_bench.sh.

    tuner_bench_kernel_tuner.py TRUTH     (run it in the project's folder)

Uses the same source, n and 504 configurations, but finishes in one launch (last_block), because Kernel Tuner times a
single kernel. It takes its default 7 iterations, verifies every result and does not use its cache. The true time of a
configuration is that of its two-pass finish in the exhaustive measurement TRUTH.
"""

import json
import statistics
import sys
import time
from importlib import metadata

import numpy
import kernel_tuner

RUNS = 2
N = 1 << 24


def truth_of(path):
    study = json.load(open(path, encoding="utf-8"))[0]
    return {tuple(v["parameters"][k] for k in ("block_size", "num_load", "min_blocks", "blocks_per_sm_wanted")):
            statistics.median(v["samples_ns"]) for v in study["variants"] if v["outcome"] == "measured"}


def tune(sm_count):
    values = numpy.random.default_rng(1).integers(-8, 9, N).astype(numpy.float32)
    out = numpy.zeros(1, numpy.float32)
    expected = numpy.array([values.sum(dtype=numpy.float64)], numpy.float32)
    arguments = [values, numpy.uint64(N), numpy.zeros(4 * 8 * sm_count + 64, numpy.uint64),
                 numpy.zeros(32 * (1 + 8 * sm_count), numpy.uint32), out]
    parameters = {
        "BLOCK_SIZE": [32, 64, 128, 256, 512, 1024],
        "NUM_LOAD": [1, 2, 4, 8, 16, 32],
        "MIN_BLOCKS": [1, 2, 4, 8],
        "BLOCKS_PER_SM": [1, 2, 4, 8],
    }
    start = time.perf_counter()
    results, _ = kernel_tuner.tune_kernel(
        "reduce", "kernel_templates/reduce.cu", lambda p: (sm_count * p["BLOCKS_PER_SM"],), arguments, parameters,
        lang="cupy", grid_div_x=[], block_size_names=["BLOCK_SIZE"],
        restrictions=["BLOCK_SIZE * MIN_BLOCKS <= 2048"],
        answer=[None, None, None, None, expected], atol=1e-3,
        compiler_options=["-std=c++17", "-Ikernel_templates", "-DVECTOR_WIDTH=1", "-DFINISH=FINISH_LAST_BLOCK"],
        quiet=True)
    return time.perf_counter() - start, results


def main():
    import cupy
    sm_count = cupy.cuda.Device(0).attributes["MultiProcessorCount"]
    truth = truth_of(sys.argv[1])
    best = min(truth.values())
    print("run,version,wall_s,variants,variants_per_s,winner,true_us,regret_percent")
    for run in range(1, RUNS + 1):
        wall_s, results = tune(sm_count)
        valid = [r for r in results if isinstance(r["time"], (int, float))]
        winner = min(valid, key=lambda r: r["time"])
        names = ("BLOCK_SIZE", "NUM_LOAD", "MIN_BLOCKS", "BLOCKS_PER_SM")
        true = truth[tuple(winner[name] for name in names)]
        text = " ".join(f"{name}={winner[name]}" for name in names)
        print(f"{run},{metadata.version('kernel_tuner')},{wall_s:.1f},"
              f"{len(valid)},{len(valid) / wall_s:.1f},{text},{true / 1e3:.2f},{100 * (true / best - 1):.2f}", flush=True)


if __name__ == "__main__":
    main()
