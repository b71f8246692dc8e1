#include "compile/launch_arguments.h"

#include "compile/cubin_elf.h"

#include <stdio.h>
#include <string.h>

enum { SIZES_BYTES = 256 };

/* Appends "8, 8, 4"; what finds no room is left out. */
static void append_size(char text[SIZES_BYTES], size_t bytes)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, SIZES_BYTES - length, "%s%zu", length > 0 ? ", " : "", bytes);
}

static int refuse(const struct step *step, const struct cubin_parameters *parameters,
                  struct error *error)
{
    char has[SIZES_BYTES] = "";
    char given[SIZES_BYTES] = "";
    for (size_t i = 0; i < parameters->count && i < CUBIN_PARAMETERS; i++)
        append_size(has, parameters->bytes[i]);
    for (size_t i = 0; i < step->argument_count; i++)
        append_size(given, step->arguments[i].size);
    return error_set(error, ERROR_CONFIG,
                     "kernel '%s' has %zu parameters, of %s bytes; 'arguments' gives %zu, of %s "
                     "bytes",
                     step->entry, parameters->count, has[0] != '\0' ? has : "no",
                     step->argument_count, given[0] != '\0' ? given : "no");
}

static int check_step(const struct step *step, const void *cubin, size_t cubin_bytes,
                      struct error *error)
{
    struct cubin_parameters parameters;
    if (!cubin_elf_parameters(cubin, cubin_bytes, step->entry, &parameters))
        return 0;
    if (parameters.count != step->argument_count)
        return refuse(step, &parameters, error);
    for (size_t i = 0; i < step->argument_count && i < CUBIN_PARAMETERS; i++)
        if (parameters.bytes[i] != step->arguments[i].size)
            return refuse(step, &parameters, error);
    return 0;
}

int launch_arguments_check(const struct launch_plan *launch_plan, const void *cubin,
                           size_t cubin_bytes, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++)
        status = check_step(&launch_plan->steps[i], cubin, cubin_bytes, error);
    return status;
}
