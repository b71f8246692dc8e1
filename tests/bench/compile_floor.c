/*
 * usage: compile_floor SWEEP PROCESSES [ARCH]
 *
 * How fast NVRTC alone compiles the kernels of a sweep's first problem, with so many processes at
 * once: the same calls as compile workers make, without messages, cubin cache or the start of the
 * workers. Each process compiles one kernel before the clock starts, because a process's first one
 * takes longer. Prints a line of CSV: the processes, the kernels, how long one takes on average, and
 * how many per second all processes would compile if none ever waited.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "compile/nvrtc.h"
#include "record/gpu.h"
#include "template/space.h"
#include "template/sweep.h"
#include "template/variant.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct kernels {
    const struct template *template;
    const char *arch;
    struct options *items;
    size_t count;
};

/* What the processes share. */
struct shared {
    atomic_size_t ready;
    atomic_size_t next;
    atomic_llong busy_ns; /* of all processes */
    atomic_bool failed;
};

static int fail(const struct error *error)
{
    (void)fprintf(stderr, "compile_floor: %s\n", error->message);
    return EXIT_FAILURE;
}

static bool same(const struct options *a, const struct options *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; i < a->count && equal; i++)
        equal = strcmp(a->items[i], b->items[i]) == 0;
    return equal;
}

/* Variants that differ only in launch parameters are one kernel. */
static void add_kernel(struct kernels *kernels, struct options *options)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (same(&kernels->items[i], options)) {
            options_release(options);
            return;
        }
    *ARRAY_APPEND(kernels->items, kernels->count) = *options;
}

static int find_kernels(struct kernels *kernels, const struct sweep_kernel *kernel,
                        struct error *error)
{
    const struct bindings *problem = &kernel->problems[0];
    struct gpu gpu;
    struct bindings fixed = {0};
    struct bindings parameters = {0};
    kernels->template = &kernel->template;
    int status = gpu_from_arch(kernels->arch, &gpu, error);
    bindings_copy(&fixed, problem);
    if (status == 0)
        gpu_bindings(&gpu, &fixed);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &fixed);
    while (status == 0 && (status = space_next(space, &parameters, error)) == 1) {
        struct options options;
        status = variant_options(kernels->template, &parameters, problem, &options, error);
        if (status == 0)
            add_kernel(kernels, &options);
    }
    space_free(space);
    bindings_release(&parameters);
    bindings_release(&fixed);
    return status;
}

static bool compile(const struct kernels *kernels, struct nvrtc *nvrtc, size_t index)
{
    const struct source *source = &kernels->template->source;
    const struct options *options = &kernels->items[index];
    struct compilation compilation;
    int status =
        nvrtc_compile(nvrtc, source->path, source->text, kernels->arch,
                      (const char *const *)options->items, options->count, &compilation, NULL);
    bool compiled = status == 0 && compilation.cubin != NULL;
    compilation_release(&compilation);
    return compiled;
}

/* One process; as compile workers do, it keeps the memory that a compilation frees for the next. */
static void work(const struct kernels *kernels, struct shared *shared, size_t processes)
{
    struct nvrtc *nvrtc = NULL;
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 25);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)mallopt(M_TOP_PAD, 1 << 25);
    bool good = nvrtc_open(&nvrtc, NULL, NULL) == 0 && compile(kernels, nvrtc, 0);
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < processes)
        (void)usleep(100);
    for (;;) {
        size_t index = atomic_fetch_add(&shared->next, 1);
        if (!good || index >= kernels->count)
            break;
        int64_t begin_ns = clock_ns();
        good = compile(kernels, nvrtc, index);
        atomic_fetch_add(&shared->busy_ns, clock_ns() - begin_ns);
    }
    if (!good)
        atomic_store(&shared->failed, true);
    _exit(0);
}

static int measure(const struct kernels *kernels, size_t processes)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return EXIT_FAILURE;
    for (size_t i = 0; i < processes; i++)
        if (fork() == 0)
            work(kernels, shared, processes);
    while (wait(NULL) > 0)
        continue;
    if (atomic_load(&shared->failed)) {
        (void)fprintf(stderr, "compile_floor: a kernel does not compile\n");
        return EXIT_FAILURE;
    }
    double mean_s = (double)atomic_load(&shared->busy_ns) * 1e-9 / (double)kernels->count;
    (void)printf("%zu,%zu,%.1f,%.0f\n", processes, kernels->count, mean_s * 1e3,
                 (double)processes / mean_s);
    return 0;
}

int main(int argc, char **argv)
{
    struct error error;
    struct sweep sweep;
    struct kernels kernels = {.arch = argc > 3 ? argv[3] : "sm_90"};
    long processes = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (processes < 1) {
        (void)fprintf(stderr, "usage: compile_floor SWEEP PROCESSES [ARCH]\n");
        return EXIT_FAILURE;
    }
    const struct sweep_request request = {.path = argv[1]};
    if (sweep_open(&sweep, &request, &error) != 0 ||
        find_kernels(&kernels, &sweep.kernels[0], &error) != 0)
        return fail(&error);
    int status = measure(&kernels, (size_t)processes);
    for (size_t i = 0; i < kernels.count; i++)
        options_release(&kernels.items[i]);
    free(kernels.items);
    sweep_release(&sweep);
    return status;
}
