#include "base/channel.h"
#include "base/worker.h"
#include "command/command.h"
#include "compile/compile_worker.h"
#include "compile/cubin_cache.h"
#include "gpu/device_worker.h"
#include "record/gpu.h"
#include "tune/device_lock.h"
#include "tune/fleet.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- devices --- */

static void print_gpu(size_t index, const struct gpu *gpu)
{
    printf("device %zu: %s, %s, %s, driver for CUDA %s\n", index, gpu->name, gpu->arch, gpu->uuid,
           gpu->driver);
    printf("  %-34s %12d  %s\n", "compute_capability", gpu->compute_capability,
           "10 × major + minor");
    printf("  %-34s %12" PRId64 "  %s\n", "memory_bytes", gpu->memory_bytes,
           "device memory, bytes");
    for (int i = 0; i < GPU_ATTRIBUTE_COUNT; i++)
        printf("  %-34s %12" PRId64 "  %s\n", gpu_attribute_name((enum gpu_attribute)i),
               gpu->attributes[i], gpu_attribute_text((enum gpu_attribute)i));
}

static int devices(void *user, struct command_input *input, struct error *error)
{
    struct command_options *options = user;
    enum report_format format;
    struct gpu *gpus = NULL;
    size_t count = 0;
    (void)input;
    int status = command_check(options, false, &format, error);
    if (status == 0 && format != REPORT_TABLE && format != REPORT_JSON)
        status = error_set(error, ERROR_USAGE, "unknown format '%s'; choose table or json",
                           options->format);
    if (status == 0)
        status = gpu_list(&gpus, &count, error);
    json_t *list = json_array();
    for (size_t i = 0; i < count && status == 0; i++) {
        if (format == REPORT_TABLE)
            print_gpu(i, &gpus[i]);
        json_array_append_new(list, gpu_to_json(&gpus[i]));
    }
    if (status == 0 && format == REPORT_JSON) {
        (void)json_dumpf(list, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(list);
    if (status == 0 && count == 0)
        status = error_set(error, ERROR_DEVICE, "the driver found no GPU");
    free(gpus);
    return status;
}

int command_devices(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {
        option_text("format", 'f', &options.format, "table or json (default: table)", "FORMAT"),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "devices [OPTION...]\n\n"
        "Lists the GPUs with every attribute that expressions can use.\n\n"
        "Example: autotune devices --format json",
        devices, &options};
    return command_perform(argc, argv, &line, error);
}

/* --- cache --- */

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static int show(const char *folder, struct error *error)
{
    uint64_t limit;
    struct cubin_cache_contents contents;
    char date[32] = "unknown";
    struct tm local;
    int status = cubin_cache_limit(&limit, error);
    if (status == 0)
        status = cubin_cache_measure(folder, &contents, error);
    if (status != 0)
        return status;
    printf("folder   %s/cubin\nentries  %zu\nsize     %.1f MiB\nlimit    %.0f MiB\n", folder,
           contents.entries, mebibytes(contents.bytes), mebibytes(limit));
    time_t oldest = (time_t)contents.oldest_s;
    if (localtime_r(&oldest, &local) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M", &local);
    if (contents.entries > 0)
        printf("oldest   last used %s\n", date);
    return 0;
}

static int clear(const char *folder, struct error *error)
{
    struct cubin_cache_contents removed;
    int status = cubin_cache_clear(folder, &removed, error);
    if (status == 0)
        printf("removed %zu entries, %.1f MiB, from %s/cubin\n", removed.entries,
               mebibytes(removed.bytes), folder);
    return status;
}

static int cache(void *user, struct command_input *input, struct error *error)
{
    const int *empty = user;
    char *folder = cubin_cache_default_folder();
    (void)input;
    int status = *empty ? clear(folder, error) : show(folder, error);
    free(folder);
    return status;
}

int command_cache(int argc, const char **argv, struct error *error)
{
    int empty = 0;
    const struct poptOption table[] = {
        option_flag("clear", 0, &empty, "remove everything from the cache"), POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "cache [--clear]\n\n"
        "Shows the cache of compiled variants, or empties it.\n\n"
        "When a run makes the cache larger than 2048 MiB, or than AUTOTUNE_CACHE_MB if\n"
        "that is set, the least recently used variants are removed.\n\n"
        "Example: autotune cache --clear",
        cache, &empty};
    return command_perform(argc, argv, &line, error);
}

/* --- worker --- */

int command_worker(int argc, const char **argv, struct error *error)
{
    struct channel channel;
    bool compiles = argc > 1 && strcmp(argv[1], "compile") == 0;
    bool locks = argc > 2 && strcmp(argv[1], "lock") == 0; /* for other machines alone */
    if (!compiles && !locks && (argc < 2 || strcmp(argv[1], "device") != 0))
        return error_set(error, ERROR_USAGE,
                         "workers are started as `autotune worker compile` or "
                         "`autotune worker device [N|UUID]`");
    worker_enter(compiles);
    /* Messages use copies of standard input and output. Standard output itself becomes stderr, so that
     * nothing a library prints can get between the messages. */
    int in = dup(STDIN_FILENO);
    int out = dup(STDOUT_FILENO);
    if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return error_set_errno(error, ERROR_WORKER, "cannot use standard input and output");
    channel_init(&channel, in, out);
    int status = locks      ? lock_worker_run(&channel, argv[2], error)
                 : compiles ? compile_worker_run(&channel, error)
                            : device_worker_run(&channel, argc > 2 ? argv[2] : "0", error);
    if (status == ERROR_WORKER) /* of the channel, or for want of memory: all others are sent */
        worker_give_up(error);
    channel_release(&channel);
    error->message[0] = '\0'; /* it was sent through the channel */
    return status;
}
