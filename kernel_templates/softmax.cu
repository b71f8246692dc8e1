// Softmax of each row of a matrix in row-major order: exp(x - max) / (sum of exp(x - max)), where max
// is the largest element of the row, so that no exp overflows.
//
// METHOD        registers: the threads of a row keep it in registers, so it is read once
//               (softmax_registers.cuh).
//               reread: a block reads its row twice, the second time from L2 if it is still there.
//               split: two launches. Each row has several parts; the first launch finds the maximum
//               and the sum of each part, the second combines them and writes the part. For rows that
//               are too few and too long for one block each (both: softmax_reread.cuh).
// BLOCK_SIZE    threads per block.
// VECTOR_WIDTH  elements per load and store, a divisor of the length of rows. 16 bytes need the fewest
//               instructions.
// LOADS         loads that each thread has in flight. registers: all that it has of a row.
// MIN_BLOCKS    minimum resident blocks per SM: the second launch bound, which caps registers.
//               0 leaves it out.
// LOAD          cached: an ordinary load.
//               once: bypasses L1.
//               bulk: (registers only) the copy engine of compute capability 9.0 keeps STAGES buffers
//               in shared memory filled: the next rows arrive while these are computed.
// STORE         cached: an ordinary store. streaming: L2 evicts the line first.
// ROW_THREADS   registers: threads of a block per row, a power of two. A warp or less needs no shared
//               memory; a block has BLOCK_SIZE / ROW_THREADS rows.
// CLUSTER       registers: blocks per row, which exchange their results through distributed shared
//               memory (compute capability 9.0).
// REDUCTION     registers: two_steps: first the maximum, then the sum.
//               one_step: both together, so that threads wait for each other once. Each first uses
//               its own maximum, and corrects its elements afterwards.
// VALUE_TYPE (part of the problem): float, half or bfloat16, see value_types.cuh.
#include "value_types.cuh"

#define METHOD_REREAD 0
#define METHOD_REGISTERS 1
#define METHOD_SPLIT 2
#define LOAD_CACHED 0
#define LOAD_ONCE 1
#define LOAD_BULK 2
#define STORE_CACHED 0
#define STORE_STREAMING 1
#define REDUCTION_TWO_STEPS 0
#define REDUCTION_ONE_STEP 1

#ifndef METHOD
#define METHOD METHOD_REREAD
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 1
#endif
#ifndef LOADS
#define LOADS 4
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 0
#endif
#ifndef LOAD
#define LOAD LOAD_CACHED
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef STORE
#define STORE STORE_CACHED
#endif
#ifndef ROW_THREADS
#define ROW_THREADS 256
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef REDUCTION
#define REDUCTION REDUCTION_TWO_STEPS
#endif

#if MIN_BLOCKS > 0
#define LAUNCH_BOUNDS __launch_bounds__(BLOCK_SIZE, MIN_BLOCKS)
#else
#define LAUNCH_BOUNDS __launch_bounds__(BLOCK_SIZE)
#endif

#if METHOD != METHOD_REGISTERS
#undef ROW_THREADS
#define ROW_THREADS BLOCK_SIZE
#endif

#define LOG2_E 1.44269504f
#define LOWEST (-3.402823466e38f) // of all finite floats
#define MINUS_INFINITY __int_as_float(0xff800000)

typedef Vector<Value, VECTOR_WIDTH> Group;

// What a thread has of a row: LOADS groups.
typedef float Elements[LOADS][VECTOR_WIDTH];

// ---- Arithmetic ---------------------------------------------------------------------------------

__device__ __forceinline__ float exp_of(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * LOG2_E));
    return result;
}

__device__ __forceinline__ float reciprocal(float x)
{
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// Of some elements: the largest, and the sum of exp(element - largest).
struct Part {
    float largest;
    float sum;
};

// Operations as row_reduce() takes them. The identity of maxima is a finite number, so that its
// difference from an element is never NaN, even if that is -infinity.
struct Max {
    static __device__ __forceinline__ float combine(float a, float b)
    {
        return fmaxf(a, b);
    }
    static __device__ __forceinline__ float identity()
    {
        return LOWEST;
    }
};

struct Sum {
    static __device__ __forceinline__ float combine(float a, float b)
    {
        return a + b;
    }
    static __device__ __forceinline__ float identity()
    {
        return 0;
    }
};

struct Join {
    static __device__ __forceinline__ Part combine(Part a, Part b)
    {
        const float ahead = a.largest - b.largest;
        const float factor = exp_of(-fabsf(ahead)); // of the sum with the smaller maximum
        return {fmaxf(a.largest, b.largest),
                ahead >= 0 ? a.sum + b.sum * factor : b.sum + a.sum * factor};
    }
    static __device__ __forceinline__ Part identity()
    {
        return {LOWEST, 0};
    }
};

__device__ __forceinline__ float largest_of(const Elements &x)
{
    float largest = LOWEST;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        float of_group = x[i][0];
#pragma unroll
        for (int j = 1; j < VECTOR_WIDTH; j++) {
            of_group = fmaxf(of_group, x[i][j]);
        }
        largest = fmaxf(largest, of_group);
    }
    return largest;
}

// Replaces each element by exp(element - largest), and returns their sum.
__device__ __forceinline__ float exps_of(Elements &x, float largest)
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        float of_group = 0;
#pragma unroll
        for (int j = 0; j < VECTOR_WIDTH; j++) {
            x[i][j] = exp_of(x[i][j] - largest);
            of_group += x[i][j];
        }
        sum += of_group;
    }
    return sum;
}

__device__ __forceinline__ void scale(Elements &x, float factor)
{
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#pragma unroll
        for (int j = 0; j < VECTOR_WIDTH; j++) {
            x[i][j] *= factor;
        }
    }
}

// ---- Loads and stores ---------------------------------------------------------------------------

#define GROUP_BYTES (VECTOR_WIDTH * (VALUE_TYPE == VALUE_TYPE_FLOAT ? 4 : 2))
#define GROUP_WORDS ((GROUP_BYTES + 3) / 4)

#if LOAD == LOAD_BULK
#define LOAD_FROM "ld.shared"
#define ADDRESS(from) "r"(shared_address(from))
#elif LOAD == LOAD_ONCE
#define LOAD_FROM "ld.global.nc.L1::no_allocate"
#define ADDRESS(from) "l"(from)
#else
#define LOAD_FROM "ld.global.nc"
#define ADDRESS(from) "l"(from)
#endif

#if VALUE_TYPE == VALUE_TYPE_FLOAT
#define MINUS_INFINITIES 0xff800000 // as the elements of a word
#elif VALUE_TYPE == VALUE_TYPE_HALF
#define MINUS_INFINITIES 0xfc00fc00
#else
#define MINUS_INFINITIES 0xff80ff80
#endif

__device__ __forceinline__ uint32 shared_address(const void *pointer)
{
    return (uint32)__cvta_generic_to_shared(pointer);
}

// Loads the words of a group if `inside`, or leaves them as they are. The compiler would not always
// start all of a thread's loads before it uses the first, if these were under an `if`.
__device__ __forceinline__ void load_group(uint32 (&words)[GROUP_WORDS], const Group *from,
                                           bool inside)
{
#if GROUP_BYTES == 2
    uint16 bits = (uint16)words[0];
    asm volatile("{\n\t.reg .pred inside;\n\tsetp.ne.u32 inside, %2, 0;\n\t@inside " LOAD_FROM
                 ".u16 %0, [%1];\n\t}"
                 : "+h"(bits)
                 : ADDRESS(from), "r"((uint32)inside)
                 : "memory");
    words[0] = bits;
#elif GROUP_BYTES == 4
    asm volatile("{\n\t.reg .pred inside;\n\tsetp.ne.u32 inside, %2, 0;\n\t@inside " LOAD_FROM
                 ".u32 %0, [%1];\n\t}"
                 : "+r"(words[0])
                 : ADDRESS(from), "r"((uint32)inside)
                 : "memory");
#elif GROUP_BYTES == 8
    asm volatile("{\n\t.reg .pred inside;\n\tsetp.ne.u32 inside, %3, 0;\n\t@inside " LOAD_FROM
                 ".v2.u32 {%0, %1}, [%2];\n\t}"
                 : "+r"(words[0]), "+r"(words[1])
                 : ADDRESS(from), "r"((uint32)inside)
                 : "memory");
#elif GROUP_BYTES == 16
    asm volatile("{\n\t.reg .pred inside;\n\tsetp.ne.u32 inside, %5, 0;\n\t@inside " LOAD_FROM
                 ".v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : ADDRESS(from), "r"((uint32)inside)
                 : "memory");
#else
#error a group has 2, 4, 8 or 16 bytes
#endif
}

__device__ __forceinline__ float element_of(const uint32 (&words)[GROUP_WORDS], int j)
{
#if VALUE_TYPE == VALUE_TYPE_FLOAT
    return __uint_as_float(words[j]);
#else
    return widen(Value{(uint16)(words[j / 2] >> j % 2 * 16)});
#endif
}

// Groups `first`, `first + stride`, ... below `end`. Elements beyond it are -infinity, whose exp is 0.
__device__ __forceinline__ void load_elements(Elements &x, const Group *row, uint32 first,
                                              uint32 stride, uint32 end)
{
    uint32 loaded[LOADS][GROUP_WORDS];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#pragma unroll
        for (int j = 0; j < GROUP_WORDS; j++) {
            loaded[i][j] = MINUS_INFINITIES;
        }
        load_group(loaded[i], row + first + i * stride, first + i * stride < end);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#pragma unroll
        for (int j = 0; j < VECTOR_WIDTH; j++) {
            x[i][j] = element_of(loaded[i], j);
        }
    }
}

#if VALUE_TYPE != VALUE_TYPE_FLOAT
// Rounded to the type of the elements, the first one in the lower half.
__device__ __forceinline__ uint32 narrow_pair(float first, float second)
{
#if __CUDA_ARCH__ < 800
    return narrow(first).bits | (uint32)narrow(second).bits << 16;
#else
    uint32 pair;
#if VALUE_TYPE == VALUE_TYPE_HALF
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
#endif
    return pair;
#endif
}
#endif

#if STORE == STORE_STREAMING
#define STORE_TO "st.global.cs"
#else
#define STORE_TO "st.global"
#endif

#if GROUP_BYTES > 2
// Word `i` of 4 bytes of a group.
__device__ __forceinline__ uint32 word_of(const float *elements, int i)
{
#if VALUE_TYPE == VALUE_TYPE_FLOAT
    return __float_as_uint(elements[i]);
#else
    return narrow_pair(elements[2 * i], elements[2 * i + 1]);
#endif
}
#endif

__device__ __forceinline__ void store_group(Group *to, const float *elements)
{
#if GROUP_BYTES == 2
    asm volatile(STORE_TO ".u16 [%0], %1;" : : "l"(to), "h"(narrow(elements[0]).bits) : "memory");
#elif GROUP_BYTES == 4
    asm volatile(STORE_TO ".u32 [%0], %1;" : : "l"(to), "r"(word_of(elements, 0)) : "memory");
#elif GROUP_BYTES == 8
    asm volatile(STORE_TO ".v2.u32 [%0], {%1, %2};"
                 :
                 : "l"(to), "r"(word_of(elements, 0)), "r"(word_of(elements, 1))
                 : "memory");
#elif GROUP_BYTES == 16
    asm volatile(STORE_TO ".v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "r"(word_of(elements, 0)), "r"(word_of(elements, 1)),
                   "r"(word_of(elements, 2)), "r"(word_of(elements, 3))
                 : "memory");
#else
#error a group has 2, 4, 8 or 16 bytes
#endif
}

// The counterpart of load_elements().
__device__ __forceinline__ void store_elements(const Elements &x, Group *row, uint32 first,
                                               uint32 stride, uint32 end)
{
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        if (first + i * stride < end) {
            store_group(row + first + i * stride, x[i]);
        }
    }
}

// ---- Reductions over a row ----------------------------------------------------------------------

__device__ __forceinline__ uint32 cluster_rank()
{
#if CLUSTER > 1
    uint32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#else
    return 0;
#endif
}

// All threads of the row's blocks.
__device__ __forceinline__ void row_sync()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" : : : "memory");
#else
    __syncthreads();
#endif
}

__device__ __forceinline__ float lane_xor(float value, int mask)
{
    return __shfl_xor_sync(FULL_WARP, value, mask);
}

__device__ __forceinline__ Part lane_xor(Part part, int mask)
{
    return {lane_xor(part.largest, mask), lane_xor(part.sum, mask)};
}

// Over each LANES neighbouring lanes; all of them get the result.
template <typename Operation, int LANES, typename T>
__device__ __forceinline__ T lanes_reduce(T value)
{
#pragma unroll
    for (int mask = LANES / 2; mask > 0; mask /= 2) {
        value = Operation::combine(value, lane_xor(value, mask));
    }
    return value;
}

// A warp's result for its row, in shared memory of all of the row's blocks.
template <typename T> __device__ __forceinline__ void share(T *place, T value)
{
    const uint32 lane = threadIdx.x % WARP_SIZE;
#if CLUSTER > 1
    if (lane < CLUSTER) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(T) / 4; i++) {
            asm volatile("{\n\t.reg .b32 remote;\n\t"
                         "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
                         "st.shared::cluster.f32 [remote], %2;\n\t}"
                         :
                         : "r"(shared_address((float *)place + i)), "r"(lane),
                           "f"(((const float *)&value)[i])
                         : "memory");
        }
    }
#else
    if (lane == 0) {
        *place = value;
    }
#endif
}

#define ROW_LANES (ROW_THREADS < WARP_SIZE ? ROW_THREADS : WARP_SIZE)
#define ROW_WARPS (ROW_THREADS / ROW_LANES)  // of a row in a block
#define TILE_ROWS (BLOCK_SIZE / ROW_THREADS) // rows that a block has at the same time
#define SHARES (ROW_WARPS * CLUSTER)         // warps of a row, if there is more than one

// Reduces over all threads of a row, which all get the result. All threads of the row's blocks call it.
// Rounds alternate between two arrays, because some threads may still read that of the round before.
template <typename Operation, typename T>
__device__ __forceinline__ T row_reduce(T value, uint32 round)
{
    value = lanes_reduce<Operation, ROW_LANES>(value);
    if constexpr (SHARES > 1) {
        __shared__ T shared[2][TILE_ROWS][SHARES];
        T *of_warp = shared[round % 2][threadIdx.x / ROW_THREADS];
        const uint32 warp = threadIdx.x % ROW_THREADS / WARP_SIZE;
        share(of_warp + cluster_rank() * ROW_WARPS + warp, value);
        row_sync();
        constexpr int LANES = SHARES < WARP_SIZE ? SHARES : WARP_SIZE;
        value = of_warp[threadIdx.x % LANES];
#pragma unroll
        for (int i = LANES; i < SHARES; i += LANES) {
            value = Operation::combine(value, of_warp[i + threadIdx.x % LANES]);
        }
        value = lanes_reduce<Operation, LANES>(value);
    }
    return value;
}

#if METHOD == METHOD_REGISTERS
#include "softmax_registers.cuh"
#else
#include "softmax_reread.cuh"
#endif

// ---- Input and reference ------------------------------------------------------------------------

// 64 random bits for each number.
__device__ __forceinline__ uint64 hash(uint64 number)
{
    uint64 bits = (number + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

// Nearly normal, with mean 0 and deviation 1: the sum of four uniform numbers.
__device__ __forceinline__ float normal(uint64 bits)
{
    float sum = 0;
    for (int i = 0; i < 64; i += 16) {
        sum += (float)(bits >> i & 0xffff) / 65536 - 0.5f;
    }
    return sum * 1.7320508f;
}

// Four kinds of rows, on which different mistakes show. One thread per element.
extern "C" __global__ void softmax_fill(Value *in, uint32 rows, uint32 columns)
{
    const uint64 at = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (uint64)rows * columns) {
        return;
    }
    const uint64 row = at / columns;
    const uint64 column = at % columns;
    float value = 5 * normal(hash(at));
    switch ((row + columns) % 4) {
    case 0: // each element counts in the sum
        value /= 20;
        break;
    case 1: // overflows without the maximum
        value += 1000;
        break;
    case 2: // without the maximum, the sum is 0; some elements are -infinity
        value = column % 3 == 1 ? MINUS_INFINITY : value - 1000;
        break;
    default: // overflows unless the maximum is that of the whole row
        value = column == hash(row) % columns ? 300 : value;
    }
    in[at] = narrow(value);
}

// One block of 256 threads per row, and for each result another one.
template <typename Operation> __device__ double reduce_exactly(double value)
{
    __shared__ double values[256];
    __syncthreads(); // of another call
    values[threadIdx.x] = value;
    __syncthreads();
    value = values[0];
    for (int i = 1; i < 256; i++) {
        value = Operation::combine(value, values[i]);
    }
    return value;
}

struct ExactMax {
    static __device__ double combine(double a, double b)
    {
        return fmax(a, b);
    }
};

struct ExactSum {
    static __device__ double combine(double a, double b)
    {
        return a + b;
    }
};

// A block of 256 threads per row.
extern "C" __global__ void softmax_reference(const Value *in, double *reference, uint32 rows,
                                             uint32 columns)
{
    const uint64 row = (uint64)blockIdx.x * columns;
    if (blockIdx.x >= rows) {
        return;
    }
    double largest = (double)LOWEST;
    for (uint32 i = threadIdx.x; i < columns; i += 256) {
        largest = fmax(largest, (double)widen(in[row + i]));
    }
    largest = reduce_exactly<ExactMax>(largest);
    double sum = 0;
    for (uint32 i = threadIdx.x; i < columns; i += 256) {
        sum += exp((double)widen(in[row + i]) - largest);
    }
    sum = reduce_exactly<ExactSum>(sum);
    for (uint32 i = threadIdx.x; i < columns; i += 256) {
        reference[row + i] = exp((double)widen(in[row + i]) - largest) / sum;
    }
}
