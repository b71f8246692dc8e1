#!/usr/bin/env python3
"""What a kernel that faults costs on this machine's GPU, whatever the tuner does:

    tests/bench/faults.py [REPEATS] >faults.csv

Each run is a process that initialises the driver, makes a context with a number of connections
(CUDA_DEVICE_MAX_CONNECTIONS), launches one warp that faults, and waits for the driver to say so. Then the process is
killed. Another process, which has no context, keeps the driver from starting anew each time. The figures are medians
in milliseconds.
"""
import ctypes
import os
import statistics
import subprocess
import sys
import time

PTX = b"""
.version 6.0
.target sm_60
.address_size 64
.visible .entry illegal_address(.param .u64 buffer)
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [buffer];
    add.u64 %a, %a, 1099511627776;
    mov.u32 %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
.visible .entry misaligned_address(.param .u64 buffer)
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [buffer];
    add.u64 %a, %a, 1;
    mov.u32 %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
.visible .entry trap(.param .u64 buffer)
{
    trap;
    ret;
}
"""
FAULTS = {"illegal_address": 700, "misaligned_address": 716, "trap": 719}


def call(function, *arguments):
    result = function(*arguments)
    if result != 0:
        sys.exit(f"{function.__name__} failed: {result}")


def timed(steps):
    begin = time.monotonic()
    steps()
    return 1000 * (time.monotonic() - begin)


def child(fault):
    """Prints how long each step takes, and waits to be killed."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    buffer = ctypes.c_uint64()
    init_ms = timed(lambda: call(cuda.cuInit, 0))
    if fault == "none":
        print("ready", flush=True)
        time.sleep(600)
    call(cuda.cuDeviceGet, ctypes.byref(device), 0)
    context_ms = timed(lambda: call(cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), device))
    call(cuda.cuCtxSetCurrent, context)
    call(cuda.cuModuleLoadData, ctypes.byref(module), PTX)
    call(cuda.cuModuleGetFunction, ctypes.byref(function), module, fault.encode())
    call(cuda.cuMemAlloc_v2, ctypes.byref(buffer), ctypes.c_size_t(1 << 20))
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(buffer), ctypes.c_void_p))
    call(cuda.cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
    begin = time.monotonic()
    result = cuda.cuCtxSynchronize()
    report_ms = 1000 * (time.monotonic() - begin)
    if result != FAULTS[fault]:
        sys.exit(f"{fault}: expected error {FAULTS[fault]}, not {result}")
    print(init_ms, context_ms, report_ms, flush=True)
    time.sleep(600)


def start(fault, connections):
    environment = dict(os.environ, CUDA_DEVICE_MAX_CONNECTIONS=str(connections))
    return subprocess.Popen([sys.executable, __file__, "child", fault], env=environment, stdout=subprocess.PIPE, text=True)


def measure(fault, connections):
    process = start(fault, connections)
    line = process.stdout.readline()
    process.kill()
    end_ms = timed(process.wait)
    if not line:
        sys.exit(1)
    return [float(word) for word in line.split()] + [end_ms]


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    keeper = start("none", 8)
    keeper.stdout.readline()
    try:
        print("fault,connections,init_ms,context_ms,report_ms,end_ms")
        for connections in (8, 1):
            for fault in FAULTS:
                runs = [measure(fault, connections) for _ in range(repeats)]
                medians = [statistics.median(column) for column in zip(*runs)]
                print(",".join([fault, str(connections)] + [f"{ms:.0f}" for ms in medians]), flush=True)
    finally:
        keeper.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2])
    else:
        main()
