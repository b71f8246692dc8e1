#!/usr/bin/env python3
"""Compares the tuned kernels with CUB, cooperative groups, cuBLAS and cuDNN on this machine's GPU.

Reads the configurations from a tuned INI, compiles them as applications get them (`autotune emit`) and peers.cu with
nvcc, runs everything in one process, writes RESULTS/<gpu>/bench/peers.csv, and prints a table for DETAILS.md.

Usage: peers.py [--tuned published/tuned.ini] [--results results] [--arch sm_90] [--build build/peers]
                [--autotune build/autotune]
"""
import argparse
import concurrent.futures
import configparser
import importlib.util
import math
import os
import re
import shlex
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEMPLATES = os.path.join(SOURCE, "kernel_templates")


def run(command, **options):
    return subprocess.run(command, check=True, text=True, **options)


def read_tuned(path, gpu):
    """The tuned entries for `gpu`, each a flat dictionary. Covers are for no problem in particular."""
    parser = configparser.ConfigParser(
        interpolation=None, strict=True, comment_prefixes=(";", "#"), delimiters=("=",)
    )
    with open(path, encoding="utf-8") as stream:
        parser.read_file(stream)
    return [dict(parser[section]) for section in parser.sections()
            if parser[section]["gpu"] == gpu and "cover" not in parser[section]]


def number(entry, name):
    return float(entry[name]) if "." in entry[name] else int(entry[name])


def fastest(entries):
    """The fastest entry for each problem: a tuned INI may have several kernels for the same one.
    Barriers of different block sizes stay separate, because the application chooses the block size."""
    best = {}
    for entry in entries:
        if entry["template"] == "reduce_sum" and entry["parameter.finish"] not in ("last_block", "gather"):
            continue  # more than one launch, or a cooperative one
        problem = [f"{key}={value}" for key, value in entry.items() if key.startswith("problem.")]
        barrier = entry["parameter.block_size"] if entry["template"] == "grid_barrier" else ""
        about = (entry["template"], barrier, *problem)
        if about not in best or float(entry["median_ns"]) < float(best[about]["median_ns"]):
            best[about] = entry
    return list(best.values())


class Peers:
    """Compiles tuned entries and collects the input lines for peers.cu."""

    def __init__(self, nvcc, autotune, arch, build):
        self.nvcc, self.autotune, self.arch, self.build = nvcc, autotune, arch, build
        self.lines, self.commands = [], []

    def cubin(self, entry):
        """Adds the command that compiles an entry's cubin; returns the path."""
        values = []
        for key, value in entry.items():
            kind, _, name = key.partition(".")
            if kind in ("parameter", "problem"):
                values += ["--set", f"{name}={value}"]
        path = os.path.join(self.build, f"{len(self.lines)}.cubin")
        self.commands.append([self.autotune, "emit", "--cubin", "--kernel", entry["template"], "--templates", TEMPLATES,
                              "--arch", self.arch, "--output", path, *values])
        return path

    def compile(self, program):
        """Compiles the cubins and the program, one compilation per core at a time."""
        own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.cu")
        commands = [[self.nvcc, "-O3", "-std=c++17", f"-arch={self.arch}", "-o", program, own, "-lcuda", "-ldl"]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
            list(executor.map(run, commands + self.commands))

    def add(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def reduce_sum(self, entry):
        block = number(entry, "parameter.block_size")
        bulk = entry["parameter.load"] == "bulk"
        shared = number(entry, "parameter.stages") * number(entry, "parameter.stage_bytes")
        elements = block * number(entry, "parameter.num_load") * number(entry, "parameter.vector_width")
        self.add("reduce_sum", entry["problem.value_type"], number(entry, "problem.n"),
                 self.cubin(entry), block, elements,
                 number(entry, "parameter.blocks_per_sm_wanted"),
                 number(entry, "parameter.grid_factor"), shared if bulk else 0)

    def filter(self, entry):
        kind = entry["problem.value_type"]
        element_bytes = {"float": 4, "int32": 4, "double": 8, "half": 2}
        if number(entry, "problem.n") == 0 or kind not in element_bytes:
            return
        streamed = entry["parameter.method"].endswith("streamed")
        block = number(entry, "parameter.block_size")
        elements = block * number(entry, "parameter.num_load")
        self.add(entry["template"], kind, number(entry, "problem.n"), self.cubin(entry),
                 block + 32 if streamed else block, elements,
                 number(entry, "parameter.stages") * elements * element_bytes[kind] if streamed else 0)

    def atomics(self, entry):
        kind = entry["problem.value_type"]
        if (entry["problem.operation"] == "sum" and entry["parameter.method"] != "cas"
                and kind in ("float", "int32", "double")):
            block = number(entry, "parameter.block_size")
            elements = block * number(entry, "parameter.vector_width") * number(entry, "parameter.num_load")
            self.add("atomics", kind, number(entry, "problem.n"), self.cubin(entry), block, elements,
                     number(entry, "parameter.grid_factor"))

    def histogram(self, entry):
        operation, order = entry["problem.operation"], entry["problem.order"]
        if operation == "sum" and order == "random":
            return
        addresses = number(entry, "problem.addresses")
        shared = 4 * addresses * number(entry, "parameter.copies")
        block = number(entry, "parameter.block_size")
        self.add("histogram", operation, order, number(entry, "problem.n"), addresses, self.cubin(entry), block,
                 4 * block * number(entry, "parameter.num_load"), number(entry, "parameter.grid_factor"),
                 shared if entry["parameter.method"] == "shared" else 0)

    def grid_barrier(self, entry):
        if entry["problem.test"] != "latency":
            return
        grid = number(entry, "sm_count") * number(entry, "parameter.blocks_per_sm_wanted")
        self.add("grid_barrier", self.cubin(entry),
                 number(entry, "parameter.block_size"), grid)

    def sgemm(self, entry):
        method = entry["parameter.method"]
        side = number(entry, "parameter.block_dim")
        tile = {axis: number(entry, f"parameter.tile_{axis}") for axis in "mnk"}
        threads = math.prod(tile[axis] // number(entry, f"parameter.thread_{axis}") for axis in "mn")
        shape = [side, side, side, side] if method == "naive" else [threads, 1, tile["m"], tile["n"]]
        shared = (4 * number(entry, "parameter.stages") * (tile["m"] * (tile["k"] + 4) + tile["k"] * tile["n"])
                  if method == "pipelined" else 0)
        problem = {axis: number(entry, f"problem.{axis}") for axis in "mnk"}
        waves = number(entry, "parameter.split_waves")
        blocks = waves * number(entry, "sm_count") * number(entry, "blocks_per_sm")
        tiles = math.prod(math.ceil(problem[axis] / tile[axis]) for axis in "mn")
        split = (max(1, min(problem["k"] // (4 * tile["k"]), blocks // tiles)) if waves
                 else number(entry, "parameter.split_k"))
        self.add("sgemm", *problem.values(), self.cubin(entry), method, *shape, shared, split,
                 number(entry, "parameter.group_m"))

    def gemm_tensor(self, entry):
        wgmma = entry["parameter.method"] == "wgmma"
        problem = {axis: number(entry, f"problem.{axis}") for axis in "mnk"}
        tile = {axis: number(entry, f"parameter.tile_{axis}") for axis in "mnk"}
        shared = 2 * number(entry, "parameter.stages") * (tile["m"] + tile["n"]) * tile["k"]
        block = (128 * number(entry, "parameter.warpgroups") + 32 if wgmma
                 else 32 * number(entry, "parameter.warps_m") * number(entry, "parameter.warps_n"))
        cluster = number(entry, "parameter.cluster_m")
        tiles = math.prod(math.ceil(problem[axis] / tile[axis]) for axis in "mn")
        resident = number(entry, "parameter.resident") * number(entry, "sm_count") // cluster * cluster
        self.add("gemm_tensor", entry["problem.output_type"], *problem.values(),
                 self.cubin(entry), entry["parameter.method"],
                 min(tiles, resident or tiles), block, tile["m"], tile["n"], shared + (1024 if wgmma else 0), cluster,
                 number(entry, "parameter.group_m"))

    def softmax(self, entry):
        block, row_threads = number(entry, "parameter.block_size"), number(entry, "parameter.row_threads")
        columns = number(entry, "problem.columns")
        registers = entry["parameter.method"] == "registers"
        rows_per_block = block // row_threads if registers else 1
        element_bytes = 4 if entry["problem.value_type"] == "float" else 2
        bulk_bytes = number(entry, "parameter.stages") * rows_per_block * columns * element_bytes
        self.add("softmax", entry["problem.value_type"], number(entry, "problem.rows"), columns,
                 self.cubin(entry), entry["parameter.method"], block, rows_per_block,
                 number(entry, "parameter.cluster"), bulk_bytes if entry["parameter.load"] == "bulk" else 0,
                 number(entry, "parameter.chunks"))

    def add_entry(self, entry):
        methods = {"reduce_sum": self.reduce_sum, "filter": self.filter, "sgemm": self.sgemm,
                   "gemm_tensor": self.gemm_tensor, "softmax": self.softmax,
                   "filter_ordered": self.filter, "atomics": self.atomics,
                   "histogram": self.histogram, "grid_barrier": self.grid_barrier}
        method = methods.get(entry["template"])
        if method:
            method(entry)


def table(rows):
    """DETAILS.md's table, and the geometric mean over the sizes of each benchmark."""
    lines = ["| benchmark | type | n | ours µs | peer | peer µs | ratio |", "|---|---|---|---|---|---|---|"]
    groups = {}
    for row in rows:
        benchmark, kind, _, _, peer, _, ratio = row
        lines.append("| " + " | ".join(row) + " |")
        groups.setdefault((benchmark, kind, peer), []).append(float(ratio))
    lines.append("")
    for (benchmark, kind, peer), ratios in groups.items():
        mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        lines.append(f"{benchmark} {kind} against {peer}: geometric mean {mean:.3f}, least {min(ratios):.3f}")
    return "\n".join(lines)


def cudnn_folders():
    """Where Python's package of cuDNN has its library."""
    folders = (os.path.join(folder, "nvidia", "cudnn", "lib") for folder in sys.path)
    return [folder for folder in folders if os.path.isdir(folder)]


def run_peers(program, lines):
    """The results of peers.cu, and of peers_torch.py if Python has what it needs, as lines of CSV."""
    text = "\n".join(lines) + "\n"
    paths = [os.environ[name] for name in ["LD_LIBRARY_PATH"] if name in os.environ] + cudnn_folders()
    output = run([program], input=text, stdout=subprocess.PIPE,
                 env={**os.environ, "LD_LIBRARY_PATH": ":".join(paths)}).stdout
    if any(line.startswith("softmax ") for line in lines):
        if importlib.util.find_spec("torch") and importlib.util.find_spec("triton"):
            own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers_torch.py")
            other = subprocess.run([sys.executable, own], input=text, text=True, stdout=subprocess.PIPE, check=False)
            output += other.stdout  # what it had measured, if it failed: its message is on standard error
        else:
            print("peers.py: no torch or no Triton, so softmax is not compared with them", file=sys.stderr)
    return output


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tuned", default="published/tuned.ini")
    options.add_argument("--results", default="results")
    options.add_argument("--arch", help="default: the GPU's own")
    options.add_argument("--nvcc", default="nvcc")
    options.add_argument("--autotune", default="build/autotune")
    options.add_argument("--build", default="build/peers")
    options = options.parse_args()

    query = run(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"],
                capture_output=True).stdout.splitlines()[0]
    gpu, capability, driver = (field.strip() for field in query.split(","))
    arch = options.arch or "sm_" + capability.replace(".", "")
    os.makedirs(options.build, exist_ok=True)
    peers = Peers(options.nvcc, options.autotune, arch, options.build)
    for entry in fastest(read_tuned(options.tuned, gpu)):
        peers.add_entry(entry)
    if not peers.lines:
        sys.exit(f"peers.py: '{options.tuned}' has no kernel with a peer for '{gpu}'; tune first")

    program = os.path.join(options.build, "peers")
    peers.compile(program)
    rows = [line.split(",") for line in run_peers(program, peers.lines).splitlines()]
    commit = run([os.path.join(SOURCE, "tests", "bench", "commit.sh"), SOURCE], capture_output=True).stdout.strip()

    folder = os.path.join(options.results, re.sub("[^a-z0-9]", "-", gpu.lower()), "bench")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "peers.csv")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("benchmark,type,n,ours_us,peer,peer_us,ratio,commit\n")
        stream.writelines(",".join([*row, commit]) + "\n" for row in rows)
    version = run([options.nvcc, "--version"], capture_output=True).stdout
    print(f"{gpu}, driver {driver}, CUDA {re.search('release ([0-9.]+)', version).group(1)}; "
          f"`{shlex.join(sys.argv)}`\n\n{table(rows)}\n\nwritten to {path}")


if __name__ == "__main__":
    main()
