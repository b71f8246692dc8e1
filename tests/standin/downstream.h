/*
 * Host versions of the shipped kernels that the application in tests/downstream runs, and of its
 * own: theirs are for many threads and cannot be compiled for one. Sums of float, and the barrier's
 * latency. Included by kernels.cpp alone.
 */
#ifndef STANDIN_DOWNSTREAM_H
#define STANDIN_DOWNSTREAM_H

#include <cstdint>
#include <cuda.h>

/* Of standin.h, which is C. */
extern "C" __attribute__((visibility("hidden"))) bool memory_holds(CUdeviceptr address,
                                                                   size_t bytes);

namespace downstream
{
typedef unsigned long long u64;

double sum(const float *in, u64 n)
{
    double result = 0;
    for (u64 i = 0; i < n; i++)
        result += static_cast<double>(in[i]);
    return result;
}

void reduce(const float *in, u64 n, u64 *, unsigned *, float *out)
{
    *out = static_cast<float>(sum(in, n));
}

void reduce_reference(const float *in, double *out, u64 n)
{
    *out = sum(in, n);
}

/* What kernel_templates/grid_barrier.cu leaves: the checked rounds that were right. */
enum { CHECKED_ROUNDS = 8 };

void grid_barrier(const int *, u64, u64, unsigned *, unsigned *, u64 *out)
{
    out[0] = CHECKED_ROUNDS;
    out[1] = ~out[0];
}

void grid_barrier_reference(const int *, u64, u64, u64 *out)
{
    grid_barrier(nullptr, 0, 0, nullptr, nullptr, out);
}

/* Every block's result: as many as there is room for. */
void two_phase(const float *in, u64 n, double *, unsigned *, double *out)
{
    double result = sum(in, n);
    for (; memory_holds(reinterpret_cast<uintptr_t>(out), sizeof *out); out++)
        *out = result;
}

/* kernels.cu: it changes nothing but the cache. */
void read_all(const void *, u64, unsigned *)
{
}
} // namespace downstream

#endif
