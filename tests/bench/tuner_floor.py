#!/usr/bin/env python3
"""What part of a sweep's time no tuner can save that verifies every variant and takes these samples:

    tests/bench/tuner_floor.py BUILD [OLDER_AUTOTUNE [PAIRS [SWEEP]]]

SWEEP is configs/bench_num_load.ini unless stated: one kernel, one problem, a cold cache. Its cubins are cached. The floor
is the sum of

- the driver: from the start of a process until it has a context, with one queue (CUDA_DEVICE_MAX_CONNECTIONS=1);
- the data: allocating and writing once as many bytes as a variant moves, and the buffer that flushes the L2;
- screening: what the GPU does for each variant that was run: its verified run, reading once as many bytes as it moves,
  because its input is checked, and each sample behind a flush;
- the finals: each of their samples behind a flush.

The numbers of samples and the variants' times are those of a sweep of BUILD/autotune. The GPU's times are sums of
times that events measure, so everything that a host does while the GPU is idle is left out: loading code, queueing,
deciding, and storing. Prints each part, the sweep's own time until the tuned INI is written (median of PAIRS, 5), and
if there is an OLDER_AUTOTUNE, all of them as shares of its time, measured in turn.
"""
import ctypes
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SWEEP = os.path.join(HERE, "..", "..", "configs", "bench_num_load.ini")
SCREENING_SAMPLES, CLOSER_SAMPLES = 3, 6
LONG_US = 100  # from there on, a hopeless variant's only sample is its verified run


def call(function, *arguments):
    result = function(*arguments)
    if result != 0:
        sys.exit(f"{function.__name__} failed: {result}")


class Gpu:
    """A context, and the kernel that flushes the L2."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        call(self.cuda.cuInit, 0)
        call(self.cuda.cuDeviceGet, ctypes.byref(self.device), 0)
        call(self.cuda.cuDevicePrimaryCtxRetain, ctypes.byref(self.context), self.device)
        call(self.cuda.cuCtxSetCurrent, self.context)

    def attribute(self, number):
        value = ctypes.c_int()
        call(self.cuda.cuDeviceGetAttribute, ctypes.byref(value), number, self.device)
        return value.value

    def l2_bytes(self):
        return self.attribute(38)

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        call(self.cuda.cuMemAlloc_v2, ctypes.byref(pointer), ctypes.c_size_t(size))
        call(self.cuda.cuMemsetD8Async, pointer, 1, ctypes.c_size_t(size), None)
        return pointer

    def load_read(self, cubin):
        module, self.read = ctypes.c_void_p(), ctypes.c_void_p()
        call(self.cuda.cuModuleLoadData, ctypes.byref(module), cubin)
        call(self.cuda.cuModuleGetFunction, ctypes.byref(self.read), module, b"autotune_read")

    def read_us(self, pointer, size, sink):
        """The median time of reading so many bytes, which are not in the cache."""
        begin, end = ctypes.c_void_p(), ctypes.c_void_p()
        words, count = ctypes.c_uint64(pointer.value), ctypes.c_uint64(size // 16)
        arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in (words, count, sink)))
        blocks = 8 * self.attribute(16)
        times = []
        for event in (begin, end):
            call(self.cuda.cuEventCreate, ctypes.byref(event), 0)
        for _ in range(30):
            milliseconds = ctypes.c_float()
            for _ in range(3):  # the first ones keep the GPU busy until the last is queued, and flush
                call(self.cuda.cuEventRecord, begin, None)
                call(self.cuda.cuLaunchKernel, self.read, blocks, 1, 1, 256, 1, 1, 0, None, arguments, None)
                call(self.cuda.cuEventRecord, end, None)
            call(self.cuda.cuStreamSynchronize, None)
            call(self.cuda.cuEventElapsedTime, ctypes.byref(milliseconds), begin, end)
            times.append(1000 * milliseconds.value)
        return statistics.median(times)


def child(data_bytes):
    """Prints when the context is there, how long the data takes, and reading it; the cubin comes on stdin."""
    gpu = Gpu()
    ready = time.time()
    flush_bytes = 2 * gpu.l2_bytes()
    begin = time.monotonic()
    data = gpu.allocate(data_bytes)
    flush = gpu.allocate(flush_bytes + 16)
    call(gpu.cuda.cuStreamSynchronize, None)
    data_ms = 1000 * (time.monotonic() - begin)
    gpu.load_read(sys.stdin.buffer.read())
    sink = ctypes.c_uint64(flush.value + flush_bytes)
    print(json.dumps([ready, data_ms, gpu.read_us(flush, flush_bytes, sink), gpu.read_us(data, data_bytes, sink)]))


def start_child(cubin, data_bytes):
    environment = dict(os.environ, CUDA_DEVICE_MAX_CONNECTIONS="1")
    begin = time.time()
    # without Python's own start, which is not the driver's
    empty = subprocess.run([sys.executable, __file__, "empty"], check=True, capture_output=True, text=True)
    python_ms = 1000 * (float(empty.stdout) - begin)
    begin = time.time()
    done = subprocess.run([sys.executable, __file__, "child", str(data_bytes)], env=environment, input=cubin, check=True,
                          capture_output=True)
    ready, data_ms, flush_us, check_us = json.loads(done.stdout)
    return 1000 * (ready - begin) - python_ms, data_ms, flush_us, check_us


def support_cubin(cache):
    """The code of the tuner's own kernels, behind the first line of its entry in the cache."""
    for path in glob.glob(f"{cache}/cubin/*/*"):
        line, _, image = open(path, "rb").read().partition(b"\n")
        if b"autotune_read" in line:
            return image
    sys.exit("the cache has no code of the tuner's own kernels")


def sweep_ms(autotune, sweep, scratch, name):
    results = f"{scratch}/{name}-results"
    subprocess.run(["rm", "-rf", results], check=True)
    environment = dict(os.environ, AUTOTUNE_CACHE=f"{scratch}/{name}-cache")
    begin = time.time()
    subprocess.run([autotune, "--config", sweep, "--results", results, "--tuned", f"{results}/tuned.ini", "--quiet"],
                   env=environment, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (os.stat(f"{results}/tuned.ini").st_mtime - begin)


def gpu_ms(variant, flush_us, check_us, best_us):
    """What the GPU does for a variant, in screening and in the finals."""
    samples = variant["samples_ns"]
    run_us = statistics.median(samples) / 1000
    finals = len(samples) if variant["finalist"] else 0
    screened = len(samples) if not finals else SCREENING_SAMPLES + CLOSER_SAMPLES
    trials = 1 if screened <= SCREENING_SAMPLES else 2
    if best_us >= LONG_US and screened == 1:
        screened = 0
    screening_us = trials * (run_us + check_us) + screened * (run_us + flush_us)
    return screening_us / 1000, finals * (run_us + flush_us) / 1000


def main():
    build = os.path.realpath(sys.argv[1])
    older = os.path.realpath(sys.argv[2]) if len(sys.argv) > 2 else None
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    sweep = sys.argv[4] if len(sys.argv) > 4 else SWEEP
    programs = {"new": f"{build}/autotune"}
    if older:
        programs["old"] = older
    with tempfile.TemporaryDirectory() as scratch:
        times = {name: [] for name in programs}
        for turn in range(pairs + 1):
            for name in sorted(programs, reverse=turn % 2 == 0):
                took_ms = sweep_ms(programs[name], sweep, scratch, name)
                if turn > 0:  # the first one compiled
                    times[name].append(took_ms)
        report = subprocess.run([programs["new"], "report", "--results", f"{scratch}/new-results", "--format", "json"],
                                check=True, capture_output=True, text=True)
        variants = [v for v in json.loads(report.stdout)[0]["variants"] if v["outcome"] == "measured"]
        cubin = support_cubin(f"{scratch}/new-cache")
        data_bytes = int(max(variant["bytes"] for variant in variants)) // 16 * 16
        starts = [start_child(cubin, data_bytes) for _ in range(5)]
    driver_ms, data_ms, flush_us, check_us = (statistics.median(column) for column in zip(*starts))
    best_us = min(statistics.median(variant["samples_ns"]) for variant in variants) / 1000
    work = [gpu_ms(variant, flush_us, check_us, best_us) for variant in variants]
    parts = [("driver", driver_ms), ("data", data_ms), ("screening", sum(w[0] for w in work)),
             ("finals", sum(w[1] for w in work))]
    parts.append(("floor", sum(part[1] for part in parts)))
    parts.append(("sweep", statistics.median(times["new"])))
    old_ms = statistics.median(times["old"]) if older else None
    if older:
        parts.append(("older sweep", old_ms))
    print(f"flush {flush_us:.1f} us, check of the input {check_us:.1f} us, {len(variants)} variants run")
    for name, part_ms in parts:
        print(f"{name:12} {part_ms:7.1f} ms" + (f"  {part_ms / old_ms:5.2f}" if older else ""))


if len(sys.argv) > 1 and sys.argv[1] == "child":
    child(int(sys.argv[2]))
elif len(sys.argv) > 1 and sys.argv[1] == "empty":
    print(time.time())
elif len(sys.argv) > 1:
    main()
else:
    sys.exit("usage: tests/bench/tuner_floor.py BUILD [OLDER_AUTOTUNE [PAIRS]]")
