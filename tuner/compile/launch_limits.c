#include "compile/launch_limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The same for every compute capability from 5.0 on: CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability". */
static const uint32_t most_in_block[3] = {1024, 1024, 64};
static const uint32_t most_in_grid[3] = {INT32_MAX, 65535, 65535};
enum { REGISTER_UNIT = 8 }; /* a thread has a multiple of so many */

struct limits {
    const struct template *template;
    const struct gpu *gpu;
    const struct step *step;
    struct kernel_info info; /* of its kernel */
    struct error *error;
};

static int __attribute__((format(printf, 4, 5)))
refuse(const struct limits *limits, const char *key, int line, const char *format, ...)
{
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return error_set_at(limits->error, ERROR_CONFIG, limits->template->path, line,
                        "%s of launch '%s' %s", key, limits->step->launch->name, reason);
}

static int check_extents(const struct limits *limits, const char *key, int line,
                         const uint32_t extents[3], const uint32_t most[3])
{
    static const char *const names[3] = {"x", "y", "z"};
    for (size_t i = 0; i < 3; i++)
        if (extents[i] > most[i])
            return refuse(limits, key, line, "is %u in %s; the most is %u", extents[i], names[i],
                          most[i]);
    return 0;
}

static int check_threads(const struct limits *limits)
{
    const struct step *step = limits->step;
    int line = step->launch->lines.block;
    int64_t threads = step_threads(step);
    int64_t most = limits->gpu->attributes[GPU_max_threads_per_block];
    int bound = limits->info.max_threads_per_block;
    if (threads > most)
        return refuse(limits, "block", line, "has %" PRId64 " threads; the most is %" PRId64,
                      threads, most);
    if (bound > 0 && threads > bound)
        return refuse(limits, "block", line,
                      "has %" PRId64 " threads; the launch bounds of kernel '%s' allow %d", threads,
                      step->entry, bound);
    return check_extents(limits, "block", line, step->block, most_in_block);
}

static int check_registers(const struct limits *limits)
{
    int64_t warp = limits->gpu->attributes[GPU_warp_size];
    int64_t most = limits->gpu->attributes[GPU_registers_per_block];
    int64_t threads = step_threads(limits->step);
    int64_t registers =
        ((int64_t)limits->info.registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int64_t needed = warp > 0 ? (threads + warp - 1) / warp * warp * registers : 0;
    if (needed <= most || most == 0)
        return 0;
    return refuse(limits, "block", limits->step->launch->lines.block,
                  "has %" PRId64 " threads with %d registers each in kernel '%s', together %" PRId64
                  "; a block has at most %" PRId64 "; __launch_bounds__ limits them",
                  threads, limits->info.registers, limits->step->entry, needed, most);
}

static int check_shared(const struct limits *limits)
{
    int64_t fixed = limits->info.static_shared_bytes;
    int64_t dynamic = limits->step->dynamic_shared_bytes;
    int64_t most = limits->gpu->attributes[GPU_max_shared_bytes_per_block_optin];
    if (fixed + dynamic <= most)
        return 0;
    return refuse(limits, "shared_bytes", limits->step->launch->lines.shared_bytes,
                  "is %" PRId64 ", and kernel '%s' has %" PRId64
                  " bytes of its own; a block has at most %" PRId64,
                  dynamic, limits->step->entry, fixed, most);
}

static int check_step(const struct limits *limits)
{
    int status = check_threads(limits);
    if (status == 0)
        status = check_extents(limits, "grid", limits->step->launch->lines.grid, limits->step->grid,
                               most_in_grid);
    if (status == 0)
        status = check_registers(limits);
    return status != 0 ? status : check_shared(limits);
}

int launch_limits_check(const struct launch_plan *launch_plan, const struct template *template,
                        const struct gpu *gpu, const struct kernel_lookup *lookup,
                        struct error *error)
{
    struct limits limits = {.template = template, .gpu = gpu, .error = error};
    int status = 0;
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++) {
        limits.step = &launch_plan->steps[i];
        status = lookup->info(lookup->user, limits.step->entry, &limits.info, error);
        if (status == 0)
            status = check_step(&limits);
    }
    return status;
}
