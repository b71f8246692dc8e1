"""Times tuned softmax kernels against torch.softmax and a Triton kernel.

peers.py runs it if Python has torch and Triton, with the lines about softmax that peers.cu reads, and adds its lines
to the results. Samples are taken as in peers.cu with _hidden: a read of other data goes before each, and hides the
launches. Triton gets the fastest of several block shapes.
"""
import ctypes
import statistics
import sys

import torch
import triton
import triton.language as tl

SAMPLES = 101
FLUSH_BYTES = 2**30  # takes longer to read than Python needs for a launch
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
MAX_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CUDA = ctypes.CDLL("libcuda.so.1")


class Attribute(ctypes.Structure):
    """CUlaunchAttribute"""
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig"""
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


def call(name, *arguments):
    status = getattr(CUDA, name)(*arguments)
    if status != 0:
        sys.exit(f"peers_torch.py: {name}: error {status}")


class Softmax:
    """A tuned softmax, launched as its template says."""

    def __init__(self, words):
        self.type, rows, columns, cubin, self.method, *others = words
        self.rows, self.columns = int(rows), int(columns)
        self.block, self.rows_per_block, self.cluster, self.shared_bytes, self.chunks = map(int, others)
        module = ctypes.c_void_p()
        call("cuModuleLoad", ctypes.byref(module), cubin.encode())
        entries = {"registers": ["softmax_registers"], "reread": ["softmax_reread"],
                   "split": ["softmax_parts", "softmax_write"]}[self.method]
        self.functions = []
        for entry in entries:
            function = ctypes.c_void_p()
            call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
            call("cuFuncSetAttribute", function, MAX_SHARED_BYTES, self.shared_bytes)
            self.functions.append(function)
        self.grid = self.blocks()
        self.parts = torch.empty(2 * self.rows * self.chunks, device="cuda")

    def blocks(self):
        if self.method != "registers":
            return self.rows * (self.chunks if self.method == "split" else 1)
        tiles = -(-self.rows // self.rows_per_block)
        if self.shared_bytes == 0:
            return tiles * self.cluster
        resident = ctypes.c_int()
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(resident), self.functions[0], self.block,
             ctypes.c_size_t(self.shared_bytes))
        return min(tiles, resident.value * torch.cuda.get_device_properties(0).multi_processor_count)

    def launch(self, function, pointers, numbers):
        values = [ctypes.c_void_p(tensor.data_ptr()) for tensor in pointers] + [ctypes.c_uint(n) for n in numbers]
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        attribute = Attribute(CLUSTER_DIMENSION, 0, (self.cluster, 1, 1))
        config = Config((self.grid, 1, 1), (self.block, 1, 1), self.shared_bytes,
                        torch.cuda.current_stream().cuda_stream, ctypes.pointer(attribute), self.cluster > 1)
        call("cuLaunchKernelEx", ctypes.byref(config), function, arguments, None)

    def run(self, x, out):
        size = (self.rows, self.columns)
        if self.method != "split":
            self.launch(self.functions[0], (x, out), size)
        else:
            self.launch(self.functions[0], (x, self.parts), (*size, self.chunks))
            self.launch(self.functions[1], (x, out, self.parts), (*size, self.chunks))


@triton.jit
def triton_softmax(out, x, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    inside = (row < rows) & (column < columns)
    values = tl.load(x + row * columns + column, mask=inside, other=-float("inf")).to(tl.float32)
    exps = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(out + row * columns + column, exps / tl.sum(exps, axis=1)[:, None], mask=inside)


def triton_choices(softmax, x, out):
    """A function for each block shape, as a tutorial's reader would try them."""
    columns = triton.next_power_of_2(softmax.columns)
    for rows in (1, 4, 16, 64):
        for warps in (2, 4, 8, 16, 32):
            if rows == 1 or 1024 <= rows * columns <= 16384:
                if 4 <= rows * columns // (32 * warps) <= 64:
                    grid = (triton.cdiv(softmax.rows, rows),)
                    yield lambda rows=rows, warps=warps, grid=grid: triton_softmax[grid](
                        out, x, softmax.rows, softmax.columns, rows, columns, num_warps=warps)


class Clock:
    def __init__(self):
        self.flushed = torch.zeros(FLUSH_BYTES // 4, device="cuda")
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def us(self, run):
        self.flushed.sum()
        self.start.record()
        run()
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) * 1000

    def median(self, run, samples):
        return statistics.median(self.us(run) for _ in range(samples))


def compare(clock, softmax, ours, peer, theirs):
    samples = [(clock.us(ours), clock.us(theirs)) for _ in range(SAMPLES)]
    our_us, peer_us = (statistics.median(column) for column in zip(*samples))
    print(f"softmax_hidden,{softmax.type},{softmax.columns},{our_us:.3f},{peer},{peer_us:.3f},{peer_us / our_us:.3f}",
          flush=True)


def bench(clock, softmax):
    kind = {"float": torch.float32, "half": torch.float16}.get(softmax.type)
    if kind is None:
        return
    x = (5 * torch.randn(softmax.rows, softmax.columns, device="cuda")).to(kind)
    out, triton_out = torch.empty_like(x), torch.empty_like(x)
    softmax.run(x, out)
    expected = torch.softmax(x, dim=-1)
    tolerance = {"rtol": 2e-3 if softmax.type == "half" else 1e-5, "atol": 1e-7}
    if not torch.allclose(out, expected, **tolerance):
        sys.exit(f"peers_torch.py: softmax of {softmax.columns} {softmax.type} gave a wrong result")
    compare(clock, softmax, lambda: softmax.run(x, out), "torch.softmax", lambda: torch.softmax(x, dim=-1))
    choices = list(triton_choices(softmax, x, triton_out))
    if choices:
        fastest = min(choices, key=lambda choice: (choice(), clock.median(choice, 7))[1])
        fastest()
        if not torch.allclose(triton_out, expected, **tolerance):
            sys.exit("peers_torch.py: Triton gave a wrong result")
        compare(clock, softmax, lambda: softmax.run(x, out), "Triton", fastest)


def main():
    clock = Clock()
    for line in sys.stdin:
        benchmark, *words = line.split()
        if benchmark == "softmax":
            bench(clock, Softmax(words))


if __name__ == "__main__":
    main()
