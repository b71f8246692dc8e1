/*
 * The tuner's own kernels: they fill, compare and check buffers on the GPU, flush the L2, and delay
 * a stream while the host queues work. device_buffer.c, verify.c and measure.c launch them. The
 * enumerations below must match element.h and template.h.
 *
 * This file sticks to C style because the tests' stand-in driver also compiles it for the host,
 * with a grid of one thread, and so runs the same arithmetic.
 */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* enum element_type, in its order */
enum { INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, HALF, BFLOAT16, FLOAT, DOUBLE };

/* enum fill_kind, in its order */
enum { FILL_CONSTANT, FILL_UNIFORM, FILL_INTEGERS, FILL_COUNTING, FILL_NORMAL };

struct comparison { /* the host zeroes it first */
    u64 mismatches;     /* elements that differ */
    u64 first_inverted; /* ~(the lowest index of a mismatch) */
    u64 unwritten;      /* mismatches that are still poisoned */
    u64 misplaced;      /* elements that only one of the two wrote */
};

enum { GUARDS = 16, GUARD_BYTES = 4096 };

struct guards {
    const u8 *guard[GUARDS];
    u64 *damaged[GUARDS]; /* number of damaged bytes of each guard */
};

#ifdef __CUDACC__
__device__ static u64 global_timer_ns()
{
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* Adds every thread's value to *sum. All threads of the block must call it. It issues one atomic
 * per warp; one per thread would take longer than reading the data. */
__device__ static void add_by_warp(u64 *sum, u64 value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0 && value != 0)
        atomicAdd(sum, value);
}
#endif

#define GRID_STRIDE(i, count)                                                                      \
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < (count);                          \
         i += (u64)gridDim.x * blockDim.x)

__device__ static u32 float_bits(float x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

__device__ static float bits_float(u32 bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* binary16 to float, subnormals, infinities and NaN included */
__device__ static float half_to_float(u16 half)
{
    u32 sign = (u32)(half & 0x8000u) << 16;
    u32 exponent = (half >> 10) & 0x1fu;
    u32 fraction = half & 0x3ffu;
    if (exponent == 31)
        return bits_float(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        float magnitude = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */
        return sign != 0 ? -magnitude : magnitude;
    }
    return bits_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* float to binary16, rounded to nearest, ties to even */
__device__ static u16 float_to_half(float x)
{
    u32 bits = float_bits(x);
    u32 sign = bits >> 16 & 0x8000u;
    u32 magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (u16)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) /* 65520: rounds to infinity */
        return (u16)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below 2^-14: adding 0.5 rounds the fraction to units of 2^-24 */
        u32 rounded = float_bits(bits_float(magnitude) + 0.5f);
        return (u16)(sign | (rounded - 0x3f000000u));
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    return (u16)(sign | (magnitude - 0x38000000u) >> 13);
}

/* To float, but odd if that is not exact: rounding it once more, to 16 bits, is then as rounding x once. */
__device__ static float to_odd_float(double x)
{
    float near = (float)x;
    u32 bits = float_bits(near);
    if (x != x || (double)near == x)
        return near;
    return bits_float((fabs((double)near) > fabs(x) ? bits - 1 : bits) | 1);
}

/* float to bfloat16, rounded to nearest, ties to even */
__device__ static u16 float_to_bfloat16(float x)
{
    u32 bits = float_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (u16)(bits >> 16 | 0x40u);
    return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Integers get `whole` added, which doubles cannot hold beyond 2^53. */
__device__ static void store(void *buffer, u64 i, int type, double x, long long whole)
{
    u64 integer = (u64)whole + (type == UINT64 && x >= 0 ? (u64)x : (u64)(long long)x);
    switch (type) {
    case INT8: case UINT8: ((u8 *)buffer)[i] = (u8)integer; break;
    case INT16: case UINT16: ((u16 *)buffer)[i] = (u16)integer; break;
    case INT32: case UINT32: ((u32 *)buffer)[i] = (u32)integer; break;
    case INT64: case UINT64: ((u64 *)buffer)[i] = integer; break;
    case HALF: ((u16 *)buffer)[i] = float_to_half((float)x); break;
    case BFLOAT16: ((u16 *)buffer)[i] = float_to_bfloat16((float)x); break;
    case FLOAT: ((float *)buffer)[i] = (float)x; break;
    case DOUBLE: ((double *)buffer)[i] = x; break;
    }
}

/* The element as a double, which cannot represent every integer above 2^53. */
__device__ static double fetch(const void *buffer, u64 i, int type)
{
    switch (type) {
    case INT8: return ((const signed char *)buffer)[i];
    case INT16: return ((const short *)buffer)[i];
    case INT32: return ((const int *)buffer)[i];
    case INT64: return (double)((const long long *)buffer)[i];
    case UINT8: return ((const u8 *)buffer)[i];
    case UINT16: return ((const u16 *)buffer)[i];
    case UINT32: return ((const u32 *)buffer)[i];
    case UINT64: return (double)((const u64 *)buffer)[i];
    case HALF: return half_to_float(((const u16 *)buffer)[i]);
    case BFLOAT16: return bits_float((u32)((const u16 *)buffer)[i] << 16);
    case FLOAT: return ((const float *)buffer)[i];
    default: return ((const double *)buffer)[i];
    }
}

/* The value that storing x as `type` would leave. */
__device__ static double rounded(double x, int type)
{
    switch (type) {
    case HALF: return half_to_float(float_to_half((float)x));
    case BFLOAT16: return bits_float((u32)float_to_bfloat16((float)x) << 16);
    case FLOAT: return (float)x;
    default: return x;
    }
}

/* The element as an integer of 64 bits, exactly; 0 if it is too large for one. */
__device__ static u64 whole(const void *buffer, u64 i, int type)
{
    if (type == INT64 || type == UINT64)
        return ((const u64 *)buffer)[i];
    double x = fetch(buffer, i, type);
    return x < 0 ? (u64)(long long)x : x < 18446744073709551616.0 ? (u64)x : 0; /* 2^64 */
}

/* |a - b| of two elements. Of integers it is exact until it is rounded, unless their signs differ. */
__device__ static double distance(const void *a, int a_type, const void *b, int b_type, u64 i)
{
    double x = fetch(a, i, a_type);
    double y = fetch(b, i, b_type);
    if (a_type >= HALF || b_type >= HALF || (x < 0) != (y < 0))
        return fabs(x - y);
    u64 left = whole(a, i, a_type);
    u64 right = whole(b, i, b_type);
    return (double)(left > right ? left - right : right - left);
}

__device__ static u64 element_bits(const void *buffer, u64 i, int bytes)
{
    switch (bytes) {
    case 1: return ((const u8 *)buffer)[i];
    case 2: return ((const u16 *)buffer)[i];
    case 4: return ((const u32 *)buffer)[i];
    default: return ((const u64 *)buffer)[i];
    }
}

__device__ static int element_bytes(int type)
{
    switch (type) {
    case INT8: case UINT8: return 1;
    case INT16: case UINT16: case HALF: case BFLOAT16: return 2;
    case INT32: case UINT32: case FLOAT: return 4;
    default: return 8;
    }
}

/* splitmix64's finaliser (Steele, Lea and Flood 2014): turns a counter into 64 well-mixed bits */
__device__ static u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* The sum of twelve uniform numbers, less 6: mean 0, deviation 1, nearly normal, and made of whole
 * numbers, so that fill.c has the same bits. */
__device__ static double nearly_normal(u64 state)
{
    long long sum = 6 - 6 * (1ll << 21);
    for (int i = 0; i < 4; i++) {
        state = mix(state);
        sum += (long long)((state & 0x1fffff) + (state >> 21 & 0x1fffff) + (state >> 42 & 0x1fffff));
    }
    return (double)sum * 4.76837158203125e-7; /* 2^-21 */
}

extern "C" __global__ void autotune_empty(void)
{
}

/* Keeps the stream busy for `ns` nanoseconds while the host queues work behind it. */
extern "C" __global__ void autotune_delay(u64 ns)
{
    u64 start = global_timer_ns();
    while (global_timer_ns() - start < ns)
        ;
}

/* Reads `count` 16-byte words to fill the L2 with clean lines. It never writes `sink`, but the
 * compiler cannot know that and therefore keeps the reads. */
extern "C" __global__ void autotune_read(const uint4 *words, u64 count, u32 *sink)
{
    u32 sum = 0;
    GRID_STRIDE(i, count)
    {
        uint4 word = words[i];
        sum |= word.x ^ word.y ^ word.z ^ word.w;
    }
    if (sum == 0x9e3779b9u)
        *sink = sum;
}

/*
 * Fills by `kind`: constant a; uniform in [a, b); uniform integers in [a, b]; counting, a + b * i;
 * normal with mean a and deviation b. The index is mixed before the key comes in, so that no two keys
 * give shifted copies of the same numbers. A uniform number that its type rounds to b becomes a.
 */
extern "C" __global__ void autotune_fill(void *buffer, u64 count, int type, int kind, double a,
                                         double b, long long whole, u64 key)
{
    GRID_STRIDE(i, count)
    {
        u64 state = key ^ mix(i);
        double x = a;
        if (kind == FILL_COUNTING)
            x = a + b * (double)i;
        else if (kind == FILL_NORMAL)
            x = a + b * nearly_normal(state);
        else if (kind != FILL_CONSTANT) {
            double unit = (double)(mix(state) >> 11) * 1.1102230246251565e-16; /* [0, 1) */
            x = kind == FILL_UNIFORM ? a + (b - a) * unit : a + floor((b - a + 1) * unit);
        }
        if (kind == FILL_UNIFORM && a < b && (type < HALF ? trunc(x) : rounded(x, type)) >= b)
            x = a;
        store(buffer, i, type, x, whole);
    }
}

/* Zeroes the elements that are nearer than `width` to an edge of a shape of up to three dimensions, of
 * which x varies fastest. As in fill.c. */
extern "C" __global__ void autotune_border(void *buffer, u64 count, int bytes, int dimensions, u64 width,
                                           u64 x, u64 y, u64 z)
{
    u64 extents[3] = {x, y, z};
    GRID_STRIDE(i, count)
    {
        u64 rest = i;
        bool inside = true;
        for (int d = 0; d < dimensions; d++) {
            u64 place = rest % extents[d];
            inside = inside && place >= width && extents[d] - 1 - place >= width;
            rest /= extents[d];
        }
        if (!inside)
            for (int b = 0; b < bytes; b++)
                ((u8 *)buffer)[i * bytes + b] = 0;
    }
}

/* An element whose bytes are all `byte`. */
__device__ static u64 pattern_of(int byte, int bytes)
{
    u64 pattern = 0x0101010101010101ull * (u64)byte;
    return bytes == 8 ? pattern : pattern & ((1ull << 8 * bytes) - 1);
}

/*
 * Compares `count` elements of `out` with those of `reference`; their types are `type` and
 * `reference_type`. They were filled with the bytes `poison` and `reference_poison` before they were computed. An
 * element that the reference left poisoned must be poisoned in `out` as well. With `exact`, an
 * element is what the reference is when rounded to its type; otherwise it differs by at most
 * `absolute` + `relative` * |reference|, and infinities are equal only to themselves. NaN is equal to
 * NaN with `nan_equal`.
 */
extern "C" __global__ void autotune_compare(const void *out, int type, const void *reference,
                                            int reference_type, u64 count, int exact,
                                            double absolute, double relative, int nan_equal,
                                            int poison, int reference_poison,
                                            struct comparison *result)
{
    int bytes = element_bytes(type);
    int reference_bytes = element_bytes(reference_type);
    u64 out_poison = pattern_of(poison, bytes);
    u64 left_poison = pattern_of(reference_poison, reference_bytes);
    GRID_STRIDE(i, count)
    {
        u64 out_bits = element_bits(out, i, bytes);
        u64 reference_bits = element_bits(reference, i, reference_bytes);
        bool left_out = out_bits == out_poison;
        bool left_reference = reference_bits == left_poison;
        bool same;
        if (left_out && left_reference) {
            same = true;
        } else {
            double x = fetch(out, i, type);
            double y = fetch(reference, i, reference_type);
            if (exact && type < HALF)
                same = x == y && whole(out, i, type) == whole(reference, i, reference_type);
            else if (exact)
                same = x == rounded(type == HALF || type == BFLOAT16 ? to_odd_float(y) : y, type);
            else
                same = (x == y && type >= HALF) ||
                       (y - y == 0 && distance(out, type, reference, reference_type, i) <=
                                          absolute + relative * fabs(y));
            same = same || (nan_equal && !left_out && !left_reference && x != x && y != y);
        }
        if (!same) {
            atomicAdd(&result->mismatches, 1ull);
            atomicMax(&result->first_inverted, ~i);
            if (left_out) /* or wrong, with the poison's bits by chance */
                atomicAdd(&result->unwritten, 1ull);
            if (left_out != left_reference)
                atomicAdd(&result->misplaced, 1ull);
        }
    }
}

/*
 * Adds three checksums of a buffer's elements to `sums`. Addition commutes, so the order of threads does not matter.
 *   sums[0]: hash of each element; the same for the same elements in any order
 *   sums[1]: number of poisoned elements
 *   sums[2]: hash of the indices of poisoned elements
 */
extern "C" __global__ void autotune_checksum(const void *buffer, int bytes, u64 count, int poison,
                                             u64 *sums)
{
    u64 pattern = pattern_of(poison, bytes);
    u64 unordered = 0, poisoned = 0, places = 0;
    GRID_STRIDE(i, count)
    {
        u64 bits = element_bits(buffer, i, bytes);
        unordered += mix(bits);
        poisoned += bits == pattern;
        places += bits == pattern ? mix(i) : 0;
    }
    add_by_warp(&sums[0], unordered);
    add_by_warp(&sums[1], poisoned);
    add_by_warp(&sums[2], places);
}

/* Hashes 8 bytes and their index. Whichever one byte changes, a sum of these changes. */
__device__ static u64 hash_at(u64 bits, u64 i)
{
    return mix(bits + i * 0xd1342543de82ef95ull);
}

/* Adds the checksum of `bytes` bytes, whatever they are, to *sum. `data` is aligned to 16 bytes. */
extern "C" __global__ void autotune_fingerprint(const void *data, u64 bytes, u64 *sum)
{
    const uint4 *quads = (const uint4 *)data;
    u64 hash = 0;
    GRID_STRIDE(i, bytes / 16)
    {
        uint4 quad = quads[i];
        hash += hash_at((u64)quad.y << 32 | quad.x, 2 * i) + hash_at((u64)quad.w << 32 | quad.z, 2 * i + 1);
    }
    GRID_STRIDE(i, bytes % 16)
    {
        u64 place = bytes / 16 * 16 + i;
        hash += hash_at(((const u8 *)data)[place], place);
    }
    add_by_warp(sum, hash);
}

#ifdef __CUDACC__
/* Fills the shared memory of a multiprocessor, whose blocks it must be launched to take up alone. */
extern "C" __global__ void autotune_soil(u32 pattern, u32 words)
{
    extern __shared__ u32 shared_words[];
    volatile u32 *word = shared_words; /* or the compiler leaves the stores out */
    for (u32 i = threadIdx.x; i < words; i += blockDim.x)
        word[i] = pattern;
}
#endif

/* Counts the bytes of each of `count` guards that are not `pattern`, with one block per guard. */
extern "C" __global__ void autotune_check_guards(struct guards guards, int count, int pattern)
{
    for (u32 g = blockIdx.x; g < (u32)count; g += gridDim.x) {
        u64 wrong = 0;
        for (u32 i = threadIdx.x; i < GUARD_BYTES; i += blockDim.x)
            wrong += guards.guard[g][i] != (u8)pattern;
        if (wrong != 0)
            atomicAdd(guards.damaged[g], wrong);
    }
}
