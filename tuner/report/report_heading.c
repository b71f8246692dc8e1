#include "report/report_formats.h"

#include "base/alloc.h"
#include "report/report_gpus.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The conditions that NVML saw while the samples were taken. */
static void print_conditions(FILE *stream, const struct gpu_conditions *conditions)
{
    if (!conditions->known)
        return;
    fprintf(stream, "SM clock %.0f MHz, ", conditions->sm_clock_mhz);
    if (conditions->dropped_samples == 0 && conditions->throttled_samples == 0)
        fputs("no throttling seen, ", stream);
    if (conditions->dropped_samples > 0)
        fprintf(stream, "%" PRIu64 " samples dropped under throttling, ",
                conditions->dropped_samples);
    if (conditions->throttled_samples > 0)
        fprintf(stream, "%" PRIu64 " kept because throttling persisted, ",
                conditions->throttled_samples);
    if (conditions->other_processes == 0)
        fputs("no other process on the GPU\n", stream);
    else
        fprintf(stream, "%d OTHER PROCESS%s on the GPU\n", conditions->other_processes,
                conditions->other_processes > 1 ? "ES" : "");
}

/* Each of several GPUs; those after the first as they compare with it. */
static void print_gpus(FILE *stream, const struct study *study)
{
    if (study->gpu_count > 1)
        fprintf(stream, "screened on %zu GPUs; finals on %s\n", study->gpu_count,
                study->gpus[0].uuid);
    for (size_t i = 1; i < study->gpu_count; i++) {
        fprintf(stream, "  %s: ", study->gpus[i].uuid);
        report_gpu(stream, &study->gpus[i]);
        fputc('\n', stream);
    }
}

/* If times are of batches: their size, the exceptions, and the time of an empty kernel. */
static void print_batches(FILE *stream, const struct study *study)
{
    char buffer[REPORT_NUMBER_BYTES];
    int runs;
    size_t single;
    if (study_batched(study, &runs, &single) == 0)
        return;
    fprintf(stream, "times are of batches of %d runs", runs);
    if (single > 0)
        fprintf(stream, ", except for %zu variant%s measured in single runs", single,
                single > 1 ? "s" : "");
    fprintf(stream, "; in a batch an empty kernel takes %s us\n",
            report_time(study->empty_batch_ns, buffer));
}

/* The problems of a group, in lines no longer than the terminal. */
static void print_problems(FILE *stream, const struct study *const *group, size_t count)
{
    int column = fprintf(stream, "the same for %zu problems:", count);
    for (size_t i = 0; i < count; i++) {
        char *problem = bindings_text(&group[i]->problem);
        int width = (int)strlen(problem) + 2;
        if (column + width > REPORT_TERMINAL_WIDTH)
            column = fprintf(stream, "\n ") - 1;
        column += fprintf(stream, " %s%s", problem, i + 1 < count ? "," : "\n");
        free(problem);
    }
}

/* The kernel, and its problem unless there are several. */
static void print_subject(FILE *stream, const struct study *study, bool alone)
{
    char *problem = bindings_text(&study->problem);
    fputs(study->kernel, stream);
    if (alone && problem[0] != '\0')
        fprintf(stream, " %s", problem);
    if (!study->environment.static_mode)
        fprintf(stream, " on %s", study->environment.gpu.name);
    if (study->description != NULL && study->description[0] != '\0')
        fprintf(stream, ": %s", study->description);
    fputc('\n', stream);
    free(problem);
}

/* When the last of the group began. */
static const char *latest(const struct study *const *group, size_t count)
{
    const char *date = group[0]->environment.date;
    for (size_t i = 1; i < count; i++)
        if (strcmp(group[i]->environment.date, date) > 0)
            date = group[i]->environment.date;
    return date;
}

/* What is known of a study of another tool. */
static void print_tool(FILE *stream, const struct environment *environment)
{
    fprintf(stream, "measured by %s, not by autotune; imported%s%s%s%s\n", environment->tool,
            environment->date[0] != '\0' ? ", " : "", environment->date,
            environment->command != NULL ? ", " : "",
            environment->command != NULL ? environment->command : "");
}

void report_heading(FILE *stream, const struct study *const *group, size_t count)
{
    const struct study *study = group[0];
    const struct environment *environment = &study->environment;
    const struct gpu *gpu = &environment->gpu;
    char buffer[REPORT_NUMBER_BYTES];
    bool has_empty = study->empty_kernel_ns > 0; /* not of a run that was interrupted before */
    print_subject(stream, study, count == 1);
    if (count > 1)
        print_problems(stream, group, count);
    if (environment->static_mode)
        fprintf(stream,
                "static mode: compiled for %s but not run, limits of %s\n"
                "NVRTC %s, autotune %s, %s\n",
                gpu->arch, gpu->name, environment->nvrtc, environment->autotune,
                latest(group, count));
    else if (environment->tool[0] != '\0')
        print_tool(stream, environment);
    else
        fprintf(stream, "%s, %" PRId64 " SMs, driver %s, NVRTC %s, autotune %s, %s L2, %s%s%s%s\n",
                gpu->arch, gpu->attributes[GPU_sm_count], gpu->driver, environment->nvrtc,
                environment->autotune, study->cache, has_empty ? "empty kernel " : "",
                has_empty ? report_time(study->empty_kernel_ns, buffer) : "",
                has_empty ? " us, " : "", environment->date);
    print_batches(stream, study);
    print_conditions(stream, &study->conditions);
    print_gpus(stream, study);
    if (study->one_data_set)
        fputs("verified on one data set: no fill is random, or an expected result is a file\n",
              stream);
}
