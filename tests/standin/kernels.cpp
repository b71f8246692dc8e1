/*
 * Kernels compiled for the host, as one thread that is the whole grid: the tuner's own and those of
 * the test templates. Parameters have their defaults here whatever the variant, so that a template
 * picks among entries (`when`) what must differ in its results, and every kernel is written as a
 * grid-stride loop.
 */
#include "kernels.h"

#include "downstream.h"

#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <string.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

/* --- What CUDA C++ gives a kernel ----------------------------------------------------------------
 */

namespace
{
struct extent {
    unsigned x, y, z;
};
constexpr extent gridDim = {1, 1, 1}, blockDim = {1, 1, 1}, blockIdx = {0, 0, 0},
                 threadIdx = {0, 0, 0};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

template <typename T> T atomicAdd(T *address, std::common_type_t<T> value)
{
    T old = *address;
    *address = static_cast<T>(old + value);
    return old;
}

template <typename T> T atomicMax(T *address, std::common_type_t<T> value)
{
    T old = *address;
    if (value > old)
        *address = value;
    return old;
}

/* Of device_kernels.cu, where one thread is not the whole grid. */
inline void add_by_warp(unsigned long long *sum, unsigned long long value)
{
    *sum += value;
}

inline void __syncthreads()
{
}

inline void __threadfence()
{
}

inline void __nanosleep(unsigned nanoseconds)
{
    usleep(nanoseconds / 1000);
}

/* Of the delay kernel, which is not run but passes virtual time. */
[[maybe_unused]] unsigned long long global_timer_ns()
{
    return 0;
}

/* Textures of float, in linear memory and with unnormalised coordinates, clamped or with a border. */
typedef unsigned long long cudaTextureObject_t;

template <typename T> T tex1Dfetch(cudaTextureObject_t object, int i)
{
    const texture *texture = reinterpret_cast<const struct texture *>(object);
    return reinterpret_cast<const T *>(texture->memory.res.linear.devPtr)[i];
}

template <typename T> T texel(const texture *texture, long x, long y)
{
    const auto &memory = texture->memory.res.pitch2D;
    long width = static_cast<long>(memory.width), height = static_cast<long>(memory.height);
    bool outside = x < 0 || y < 0 || x >= width || y >= height;
    if (outside && texture->view.addressMode[0] == CU_TR_ADDRESS_MODE_BORDER)
        return 0;
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return reinterpret_cast<const T *>(memory.devPtr +
                                       static_cast<size_t>(y) * memory.pitchInBytes)[x];
}

template <typename T> T tex2D(cudaTextureObject_t object, float x, float y)
{
    const texture *texture = reinterpret_cast<const struct texture *>(object);
    if (texture->view.filterMode == CU_TR_FILTER_MODE_POINT)
        return texel<T>(texture, static_cast<long>(floorf(x)), static_cast<long>(floorf(y)));
    float left = floorf(x - 0.5f), top = floorf(y - 0.5f);
    float right = x - 0.5f - left, bottom = y - 0.5f - top;
    long i = static_cast<long>(left), j = static_cast<long>(top);
    return (1 - bottom) *
               ((1 - right) * texel<T>(texture, i, j) + right * texel<T>(texture, i + 1, j)) +
           bottom * ((1 - right) * texel<T>(texture, i, j + 1) +
                     right * texel<T>(texture, i + 1, j + 1));
}

/* A box of a map of two dimensions of float, with zeros beyond its edges, swizzled as a GPU does. */
template <typename Map, typename... Rest>
void load_box(float *to, const Map *parameter, int x, int y, Rest...)
{
    tensor_map map;
    memcpy(&map, parameter, sizeof map);
    unsigned mask = (1u << map.swizzle) - 1; /* 32, 64, 128 bytes: rows change place by 2, 4, 8 */
    unsigned row_bytes = map.box[0] * 4u;
    for (unsigned row = 0; row < map.box[1]; row++)
        for (unsigned column = 0; column < map.box[0]; column++) {
            long u = x + static_cast<long>(column), v = y + static_cast<long>(row);
            bool inside = u >= 0 && v >= 0 && u <= map.dimensions[0] && v <= map.dimensions[1];
            unsigned offset = row * row_bytes + column * 4;
            offset ^= (offset >> 7 & mask) << 4;
            const float *row_start = reinterpret_cast<const float *>(
                map.address + (inside ? static_cast<uint64_t>(v) * map.strides[0] : 0));
            to[offset / 4] = inside ? row_start[u] : 0;
        }
}

sigjmp_buf kernel_start;
volatile sig_atomic_t kernel_error;

[[noreturn]] void __trap()
{
    kernel_error = CUDA_ERROR_LAUNCH_FAILED;
    siglongjmp(kernel_start, 1);
}

/* What another process sends is none of the kernel's doing: the worker would die of it as of SIGKILL. */
void on_bad_access(int signal, siginfo_t *information, void *)
{
    while (information->si_code <= 0)
        kill(getpid(), SIGKILL);
    kernel_error = signal == SIGBUS ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    siglongjmp(kernel_start, 1);
}
} // namespace

#define __global__ __attribute__((visibility("hidden")))
#define __device__ __attribute__((unused))
#define __constant__ static
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
namespace own
{
#include "../../tuner/gpu/device_kernels.cu"
}

/* autotune_soil is the GPU's alone: what it leaves in shared memory. */
namespace quick
{
void autotune_soil()
{
}

bool is_filled(const unsigned char *data, size_t size, unsigned char byte)
{
    unsigned char block[4096];
    memset(block, byte, sizeof block);
    size_t first = 0;
    while (size - first >= sizeof block && memcmp(data + first, block, sizeof block) == 0)
        first += sizeof block;
    return size - first < sizeof block && memcmp(data + first, block, size - first) == 0;
}

/* Most of what a device worker verifies is memory that is poisoned as a whole, whose sums the host knows sooner. */
void autotune_checksum(const void *buffer, int bytes, unsigned long long count, int poison,
                       unsigned long long *sums)
{
    static unsigned long long known, places; /* the hashes of so many indices */
    const unsigned char *data = static_cast<const unsigned char *>(buffer);
    const size_t size = static_cast<size_t>(bytes) * count;
    if (size < 1 << 20 || !is_filled(data, size, static_cast<unsigned char>(poison))) {
        own::autotune_checksum(buffer, bytes, count, poison, sums);
        return;
    }
    for (places = count < known ? 0 : places, known = count < known ? 0 : known; known < count;
         known++)
        places += own::mix(known);
    sums[0] += count * own::mix(own::pattern_of(poison, bytes));
    sums[1] += count;
    sums[2] += places;
}

/* Most of what is compared agrees, which is soon seen of all; what differs goes the usual way. */
template <int TYPE, int REFERENCE_TYPE, typename T, typename R, typename... Rest>
__attribute__((flatten)) void compare_known(const void *out, const void *reference,
                                            unsigned long long count, int exact, double absolute,
                                            double relative, Rest... rest)
{
    const T *left = static_cast<const T *>(out);
    const R *right = static_cast<const R *>(reference);
    bool different = false; /* as what is not a number is */
    for (unsigned long long i = 0; i < count && exact; i++)
        different |= left[i] != right[i];
    for (unsigned long long i = 0; i < count && !exact; i++) {
        double x = left[i], y = right[i];
        different |= y - y != 0 || !(fabs(x - y) <= absolute + relative * fabs(y));
    }
    if (different)
        own::autotune_compare(out, TYPE, reference, REFERENCE_TYPE, count, exact, absolute,
                              relative, rest...);
}

void autotune_compare(const void *out, int type, const void *reference, int reference_type,
                      unsigned long long count, int exact, double absolute, double relative,
                      int nan_equal, int poison, int reference_poison, own::comparison *result)
{
#define COMPARE(TYPE, REFERENCE_TYPE, T, R)                                                        \
    if (type == own::TYPE && reference_type == own::REFERENCE_TYPE)                                \
        return compare_known<own::TYPE, own::REFERENCE_TYPE, T, R>(                                \
            out, reference, count, exact, absolute, relative, nan_equal, poison, reference_poison, \
            result);
    COMPARE(FLOAT, FLOAT, float, float)
    COMPARE(FLOAT, DOUBLE, float, double)
    COMPARE(INT32, INT32, int, int)
#undef COMPARE
    own::autotune_compare(out, type, reference, reference_type, count, exact, absolute, relative,
                          nan_equal, poison, reference_poison, result);
}
} // namespace quick
namespace scale
{
#include "templates/scale.cu"
}
namespace tile
{
#include "templates/tile.cu"
}
namespace sum
{
#include "templates/sum.cu"
}
namespace tree
{
#include "templates/tree.cu"
}
namespace types
{
#include "templates/types.cu"
}
namespace pack
{
#include "templates/pack.cu"
}
namespace blur
{
#include "templates/blur.cu"
}
namespace gather
{
#include "templates/gather.cu"
}
namespace constants
{
#include "templates/constants.cu"
}
namespace members
{
#include "templates/members.cu"
}
namespace tensor
{
#include "templates/tensor.cu"
}
/* Of repeat.cu: the data of the next buffer, behind its guard; those of this one if it is the last. */
char *next_buffer(void *data, uint64_t)
{
    CUdeviceptr next = memory_next(reinterpret_cast<CUdeviceptr>(data));
    return next != 0 ? reinterpret_cast<char *>(next) + 4096 : static_cast<char *>(data);
}
namespace repeat
{
#include "templates/repeat.cu"
}
namespace larger
{
#include "templates/larger.cu"
}
namespace march
{
#include "templates/march.cu"
}
namespace symbols
{
#include "templates/symbols.cu"
}
namespace rounds
{
#include "templates/rounds.cu"
}
namespace examples
{
#undef BLOCK_SIZE
#define BLOCK_SIZE 1 /* for the one thread */
#include "../examples/saxpy/kernels/saxpy.cu"
#undef BLOCK_SIZE
} // namespace examples
#pragma GCC diagnostic pop

/* --- The table
 * ------------------------------------------------------------------------------------- */

/* What the arguments of a launch are. */
struct arguments {
    enum { MOST = 32 };
    size_t count, bytes[MOST];
    uint64_t elements; /* the largest whole number below 2^32 */
    uint64_t address;  /* the last pointer; 0: there is none */
};

struct kernel {
    const char *entry;
    void (*run)(void **parameters);
    arguments (*describe)(void **parameters);
    kernel_end end; /* KERNEL_NEVER: it is not run */
};

namespace
{
/* An argument may lie where its type is not aligned. */
template <typename T> T load(const void *parameter)
{
    T value;
    memcpy(&value, parameter, sizeof value);
    return value;
}

template <typename... P, size_t... I>
void call(void (*function)(P...), void **parameters, std::index_sequence<I...>)
{
    (void)parameters;
    function(load<std::remove_const_t<P>>(parameters[I])...);
}

template <typename... P> void call(void (*function)(P...), void **parameters)
{
    call(function, parameters, std::index_sequence_for<P...>());
}

template <typename T> void describe_one(arguments *all, const void *parameter)
{
    all->bytes[all->count++] = sizeof(T);
    if constexpr (std::is_integral_v<T>) {
        T value = load<T>(parameter);
        bool counts = value > 0 && static_cast<uint64_t>(value) < 1ull << 32;
        if (counts && static_cast<uint64_t>(value) > all->elements)
            all->elements = static_cast<uint64_t>(value);
    } else if constexpr (std::is_pointer_v<T>) {
        all->address = reinterpret_cast<uint64_t>(load<T>(parameter));
    }
}

template <typename... P> arguments describe(void (*)(P...), void **parameters)
{
    static_assert(sizeof...(P) <= arguments::MOST, "a kernel has too many parameters");
    arguments all = {};
    (void)parameters;
    (describe_one<std::remove_const_t<P>>(&all, parameters[all.count]), ...);
    return all;
}

#define ENTRY(source, name, end)                                                                   \
    {                                                                                              \
#name, [](void **parameters) { call(source::name, parameters); },                             \
     [](void **parameters) { return describe(source::name, parameters); }, end    \
    }
#define KERNEL(source, name) ENTRY(source, name, KERNEL_DONE)
#define ENDLESS(source, name) ENTRY(source, name, KERNEL_NEVER)

/* What is not run: the L2 flush changes nothing but the cache, and the delay nothing but the time. */
void nothing(void **)
{
}

template <typename F, F function> arguments describe_own(void **parameters)
{
    arguments all = describe(function, parameters);
    all.elements = all.address = 0;
    return all;
}

#define NOTHING(source, name)                                                                      \
    {                                                                                              \
#name, nothing, describe_own < decltype(&source::name), source::name>, KERNEL_DONE         \
    }

const struct kernel kernels[] = {
    NOTHING(own, autotune_empty), NOTHING(own, autotune_delay), NOTHING(own, autotune_read),
    KERNEL(own, autotune_fill), KERNEL(own, autotune_border), KERNEL(quick, autotune_compare),
    KERNEL(quick, autotune_checksum), KERNEL(own, autotune_fingerprint),
    NOTHING(quick, autotune_soil), KERNEL(own, autotune_check_guards),
#define K(source, name) KERNEL(source, source##_##name),
#define E(source, name) ENDLESS(source, source##_##name),
    /* clang-format off */
    K(scale, good) K(scale, wrong) K(scale, overrun) K(scale, underrun)
    K(scale, modify_input) E(scale, hang) K(scale, reference)
    K(scale, slow_reference)
    K(tile, add) K(tile, reference)
    K(sum, partial) K(sum, finish) K(sum, reference)
    K(tree, step) K(tree, store)
    K(types, negate_16) K(types, negate_float) K(types, negate_double) K(types, negate_int64)
    K(types, negate_int8) K(types, reference) K(types, scalars) K(types, scalars_reference)
    K(pack, run) K(pack, reference)
    K(rounds, run)
    K(blur, memory) K(blur, fetch) K(blur, point) K(blur, linear) K(blur, reference)
    K(gather, sum) K(gather, reference)
    K(constants, sum) K(constants, reference)
    K(members, step) K(members, reference)
    K(tensor, plain) K(tensor, swizzled) K(tensor, reference)
    K(repeat, count) K(repeat, good) K(repeat, slow) K(repeat, until) K(repeat, every)
    K(repeat, follow) K(repeat, lure) K(repeat, lean) K(repeat, shove)
    K(repeat, spoil) K(repeat, memo) K(repeat, memo_done) K(repeat, late_memo) K(repeat, module) K(repeat, module_done)
    K(repeat, far) K(repeat, others) K(repeat, beyond) K(repeat, sums) K(repeat, stray)
    K(repeat, alike) K(repeat, ticket) K(repeat, toggle) K(repeat, module_late)
    K(repeat, module_late_count) K(repeat, reference)
    K(larger, good) K(larger, kept) K(larger, lower) K(larger, highest) K(larger, lowest)
    K(larger, times_0) K(larger, hang) K(larger, reference) K(larger, slow_reference)
    K(larger, odd_reference) K(larger, odd_changing_reference) K(larger, most)
    K(march, run) K(march, lazy)
    K(march, reference) K(march, slow_reference) K(march, faulty_reference)
    E(march, hanging_reference) K(march, fill) K(march, weights) K(march, count)
    K(march, faulty_count) K(march, spoiling_count)
    K(symbols, apply) K(symbols, reference) K(symbols, total)
#undef K
#undef E
    KERNEL(examples, saxpy), KERNEL(examples, saxpy_reference),
    KERNEL(downstream, reduce),
    KERNEL(downstream, reduce_reference),
    KERNEL(downstream, grid_barrier),
    KERNEL(downstream, grid_barrier_reference),
    KERNEL(downstream, two_phase),
    NOTHING(downstream, read_all),
    /* clang-format on */
};
} // namespace

/* Whether `entry` is the name itself, or a C++ name of it, as in _ZN2ns10scale_goodIfLi2EEEvPKT_PS1_S1_y. */
static bool is_named(const char *entry, const char *name)
{
    char counted[128];
    (void)snprintf(counted, sizeof counted, "%zu%s", strlen(name), name);
    return strcmp(entry, name) == 0 ||
           (strncmp(entry, "_Z", 2) == 0 && strstr(entry, counted) != nullptr);
}

const struct kernel *kernel_find(const char *entry)
{
    for (const struct kernel &kernel : kernels)
        if (is_named(entry, kernel.entry))
            return &kernel;
    return nullptr;
}

void *kernel_variable(const char *name, size_t bytes)
{
    static const struct {
        const char *name;
        void *address;
        size_t bytes;
    } variables[] = {
#define VARIABLE(source, name) {#name, &source::name, sizeof source::name}
        VARIABLE(symbols, weights), VARIABLE(symbols, offsets),         VARIABLE(symbols, total),
        VARIABLE(symbols, state),   VARIABLE(repeat, module_late_runs), VARIABLE(constants, lists),
        VARIABLE(constants, used),
    };
    for (const auto &variable : variables)
        if (strcmp(variable.name, name) == 0 && variable.bytes == bytes)
            return variable.address;
    return nullptr;
}

uint64_t kernel_elements(const struct kernel *kernel, void **parameters)
{
    return kernel->describe(parameters).elements;
}

uint64_t kernel_address(const struct kernel *kernel, void **parameters)
{
    return kernel->describe(parameters).address;
}

void **kernel_copy_parameters(const struct kernel *kernel, void **parameters)
{
    const arguments all = kernel->describe(parameters);
    size_t bytes = all.count * sizeof(void *);
    for (size_t i = 0; i < all.count; i++)
        bytes += all.bytes[i];
    void **pointers = static_cast<void **>(malloc(bytes + 1));
    char *next = reinterpret_cast<char *>(pointers + all.count);
    for (size_t i = 0; pointers != nullptr && i < all.count; next += all.bytes[i++])
        pointers[i] = memcpy(next, parameters[i], all.bytes[i]);
    return pointers;
}

double kernel_own_ns(const struct kernel *kernel, void **parameters)
{
    if (strcmp(kernel->entry, "autotune_delay") != 0)
        return -1;
    return static_cast<double>(*static_cast<own::u64 *>(parameters[0]));
}

enum kernel_end kernel_run(const struct kernel *kernel, void **parameters, CUresult *fault)
{
    if (kernel->end != KERNEL_DONE)
        return kernel->end;
    struct sigaction caught = {}, segv, bus;
    caught.sa_sigaction = on_bad_access;
    caught.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &caught, &segv);
    sigaction(SIGBUS, &caught, &bus);
    kernel_error = CUDA_SUCCESS;
    if (sigsetjmp(kernel_start, 1) == 0)
        kernel->run(parameters);
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
    *fault = static_cast<CUresult>(kernel_error);
    return kernel_error == CUDA_SUCCESS ? KERNEL_DONE : KERNEL_FAULTED;
}
