// A two-dimensional convolution of an image with a filter of 15 x 15, in float32: out[y][x] is the
// sum of filter[j][i] * in[y + j][x + i]. The input has FILTER_WIDTH - 1 columns and FILTER_HEIGHT - 1 rows
// more than the output, so no border needs a special case.
//
// A block copies the part of the image that it needs into shared memory. A thread computes
// TILE_X * TILE_Y outputs, which are BLOCK_X columns and BLOCK_Y rows apart. The image then comes
// from shared memory once for each product, so registers and shared memory decide.
//
// BLOCK_X, BLOCK_Y  threads of a block in each direction
// TILE_X, TILE_Y    outputs of a thread in each direction
// UNROLL_Y          rows of the filter that are unrolled; a divisor of FILTER_HEIGHT. Its columns
//                   always are.
// FILTER_FROM       where the filter is read from: global (through the read-only cache) or shared
// PADDING           0 or 1: an odd row length in shared memory, against bank conflicts between rows
#include "primitives.cuh"

#define FILTER_FROM_GLOBAL 0
#define FILTER_FROM_SHARED 1

// The filter's size is compiled in, so that its loops can be unrolled.
#define FILTER_WIDTH 15
#define FILTER_HEIGHT 15

#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef TILE_X
#define TILE_X 1
#endif
#ifndef TILE_Y
#define TILE_Y 1
#endif
#ifndef UNROLL_Y
#define UNROLL_Y 1
#endif
#ifndef FILTER_FROM
#define FILTER_FROM FILTER_FROM_GLOBAL
#endif
#ifndef PADDING
#define PADDING 0
#endif

#define THREADS (BLOCK_X * BLOCK_Y)
#define OUT_X (BLOCK_X * TILE_X)
#define OUT_Y (BLOCK_Y * TILE_Y)
#define IN_X (OUT_X + FILTER_WIDTH - 1)
#define IN_Y (OUT_Y + FILTER_HEIGHT - 1)
#define ROW (IN_X + (PADDING && IN_X % 2 == 0))

static_assert(FILTER_HEIGHT % UNROLL_Y == 0, "the rows of the filter are unrolled evenly");

// What is outside the image becomes 0; only outputs outside the image would need it.
__device__ __forceinline__ void load_image(float *image, const float *__restrict__ in, int width,
                                           int height, int left, int top)
{
    for (int y = threadIdx.y; y < IN_Y; y += BLOCK_Y) {
        for (int x = threadIdx.x; x < IN_X; x += BLOCK_X) {
            const bool inside = top + y < height && left + x < width;
            image[y * ROW + x] = inside ? in[(int64)(top + y) * width + left + x] : 0;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    convolution(int width, int height, const float *__restrict__ in,
                const float *__restrict__ filter, float *__restrict__ out)
{
    extern __shared__ float image[];
    const int left = blockIdx.x * OUT_X;
    const int top = blockIdx.y * OUT_Y;
    load_image(image, in, width + FILTER_WIDTH - 1, height + FILTER_HEIGHT - 1, left, top);
#if FILTER_FROM == FILTER_FROM_SHARED
    float *weights = image + IN_Y * ROW;
    for (int i = threadIdx.y * BLOCK_X + threadIdx.x; i < FILTER_WIDTH * FILTER_HEIGHT;
         i += THREADS) {
        weights[i] = filter[i];
    }
#else
    const float *__restrict__ weights = filter;
#endif
    __syncthreads();

    float sums[TILE_Y][TILE_X] = {};
    for (int rows = 0; rows < FILTER_HEIGHT; rows += UNROLL_Y) {
#pragma unroll
        for (int j = 0; j < UNROLL_Y; j++) {
            // Without this the compiler moves the loads of all rows to the front, and spills them.
            asm volatile("" : : : "memory");
#pragma unroll
            for (int i = 0; i < FILTER_WIDTH; i++) {
                const float weight = weights[(rows + j) * FILTER_WIDTH + i];
#pragma unroll
                for (int y = 0; y < TILE_Y; y++) {
#pragma unroll
                    for (int x = 0; x < TILE_X; x++) {
                        const int from = (threadIdx.y + y * BLOCK_Y + rows + j) * ROW +
                                         threadIdx.x + x * BLOCK_X + i;
                        sums[y][x] += weight * image[from];
                    }
                }
            }
        }
    }

#pragma unroll
    for (int y = 0; y < TILE_Y; y++) {
        const int to_y = top + threadIdx.y + y * BLOCK_Y;
#pragma unroll
        for (int x = 0; x < TILE_X; x++) {
            const int to_x = left + threadIdx.x + x * BLOCK_X;
            if (to_x < width && to_y < height) {
                out[(int64)to_y * width + to_x] = sums[y][x];
            }
        }
    }
}

// One thread per output, in double.
extern "C" __global__ void convolution_reference(int width, int height, const float *in,
                                                 const float *filter, double *out)
{
    const int64 at = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (int64)width * height) {
        return;
    }
    const int64 x = at % width;
    const int64 y = at / width;
    double sum = 0;
    for (int j = 0; j < FILTER_HEIGHT; j++) {
        for (int i = 0; i < FILTER_WIDTH; i++) {
            sum += (double)filter[j * FILTER_WIDTH + i] *
                   in[(y + j) * (width + FILTER_WIDTH - 1) + x + i];
        }
    }
    out[at] = sum;
}
