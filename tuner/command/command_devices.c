#include "command/command.h"

#include "record/gpu.h"
#include "tune/gpu_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static void print_json(const struct gpu *gpus, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, gpu_to_json(&gpus[i]));
    (void)json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
}

int command_devices(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {
        option_text("format", 'f', &options.format, "table or json (default: table)", "FORMAT"),
        POPT_TABLEEND};
    enum report_format format;
    struct gpu *gpus = NULL;
    size_t count = 0;
    int status = command_parse(argc, argv, table,
                               "devices [OPTION...]\n\n"
                               "Lists the GPUs with every attribute that expressions can use.\n\n"
                               "Example: autotune devices --format json",
                               error);
    if (status != 0)
        goto done;
    status = command_check(&options, false, &format, error);
    if (status == 0 && format != REPORT_TABLE && format != REPORT_JSON)
        status = error_set(error, ERROR_USAGE, "unknown format '%s'; choose table or json",
                           options.format);
    if (status == 0)
        status = gpu_list(&gpus, &count, error);
    if (status == 0 && format == REPORT_JSON)
        print_json(gpus, count);
    for (size_t i = 0; i < count && status == 0 && format == REPORT_TABLE; i++)
        print_gpu(i, &gpus[i]);
    if (status == 0 && count == 0)
        status = error_set(error, ERROR_DEVICE, "the driver found no GPU");
    free(gpus);
done:
    command_options_release(&options);
    return status < 0 ? status : 0;
}
