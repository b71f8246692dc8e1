/*
 * LSD radix sort of 32-bit keys, RADIX_BITS bits in each pass: count the digits of each tile, scan the counts, scatter
 * each tile's keys to their places. The keys swap between two arrays.
 */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 128
#endif
#ifndef ITEMS
#define ITEMS 8
#endif
#ifndef RADIX_BITS
#define RADIX_BITS 4
#endif
#define DIGITS (1u << RADIX_BITS)
#define TILE (BLOCK_SIZE * ITEMS)
#define SCAN_BLOCK 512

__device__ static unsigned digit_of(unsigned key, int shift)
{
    return key >> shift & (DIGITS - 1);
}

/* counts[digit][tile]: keys of the tile with this digit */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    radix_count(const unsigned *keys, unsigned *counts, unsigned n, int shift)
{
    __shared__ unsigned histogram[DIGITS];
    for (unsigned d = threadIdx.x; d < DIGITS; d += BLOCK_SIZE)
        histogram[d] = 0;
    __syncthreads();
    unsigned first = blockIdx.x * TILE;
    for (unsigned i = threadIdx.x; i < TILE && first + i < n; i += BLOCK_SIZE)
        atomicAdd(&histogram[digit_of(keys[first + i], shift)], 1u);
    __syncthreads();
    for (unsigned d = threadIdx.x; d < DIGITS; d += BLOCK_SIZE)
        counts[d * gridDim.x + blockIdx.x] = histogram[d];
}

/* The exclusive prefix sums of all counts, in place, by one block: each thread takes a run of them. */
extern "C" __global__ void __launch_bounds__(SCAN_BLOCK) radix_scan(unsigned *counts, unsigned length)
{
    __shared__ unsigned sums[SCAN_BLOCK];
    unsigned run = (length + SCAN_BLOCK - 1) / SCAN_BLOCK;
    unsigned first = threadIdx.x * run;
    unsigned end = min(first + run, length);
    unsigned sum = 0;
    for (unsigned i = first; i < end; i++)
        sum += counts[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned offset = 1; offset < SCAN_BLOCK; offset *= 2) {
        unsigned before = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    unsigned place = sums[threadIdx.x] - sum;
    for (unsigned i = first; i < end; i++) {
        unsigned count = counts[i];
        counts[i] = place;
        place += count;
    }
}

/* Stable: each thread has ITEMS consecutive keys, and a warp scans the counts of one digit over the block's threads. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    radix_scatter(const unsigned *keys, unsigned *sorted, const unsigned *places, unsigned n, int shift)
{
    __shared__ unsigned place[DIGITS][BLOCK_SIZE];
    unsigned own[ITEMS];
    unsigned first = blockIdx.x * TILE + threadIdx.x * ITEMS;
    for (unsigned d = 0; d < DIGITS; d++)
        place[d][threadIdx.x] = 0;
    for (int i = 0; i < ITEMS; i++)
        if (first + i < n) {
            own[i] = keys[first + i];
            place[digit_of(own[i], shift)][threadIdx.x]++;
        }
    __syncthreads();
    unsigned lane = threadIdx.x % 32;
    for (unsigned d = threadIdx.x / 32; d < DIGITS; d += BLOCK_SIZE / 32) {
        unsigned before = places[d * gridDim.x + blockIdx.x];
        for (unsigned t = lane; t < BLOCK_SIZE; t += 32) {
            unsigned count = place[d][t];
            unsigned sum = count;
            for (int offset = 1; offset < 32; offset *= 2) {
                unsigned other = __shfl_up_sync(0xffffffffu, sum, offset);
                sum += lane >= offset ? other : 0;
            }
            place[d][t] = before + sum - count;
            before += __shfl_sync(0xffffffffu, sum, 31);
        }
    }
    __syncthreads();
    for (int i = 0; i < ITEMS; i++)
        if (first + i < n)
            sorted[place[digit_of(own[i], shift)][threadIdx.x]++] = own[i];
}

/* --- the reference: bitonic, over a power of two of keys --- */

extern "C" __global__ void bitonic_begin(const unsigned *keys, unsigned *padded, unsigned n, unsigned all)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x)
        padded[i] = i < n ? keys[i] : 0xffffffffu;
}

extern "C" __global__ void bitonic_step(unsigned *padded, unsigned all, unsigned size, unsigned distance)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
        unsigned other = i ^ distance;
        unsigned a = padded[i], b = padded[other < all ? other : i];
        if (other > i && (i & size ? a < b : a > b)) {
            padded[i] = b;
            padded[other] = a;
        }
    }
}

extern "C" __global__ void bitonic_end(const unsigned *padded, unsigned *sorted, unsigned *same, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sorted[i] = same[i] = padded[i];
}
