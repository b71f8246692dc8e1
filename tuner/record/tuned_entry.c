#include "record/tuned_file.h"

#include "base/alloc.h"
#include "record/study_estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* `text` as the value of an INI key: one line of at most `room` bytes, without what begins a
 * comment or ends in blanks that a reader would drop. A new string; NULL for NULL. */
static char *one_line(const char *text, size_t room)
{
    if (text == NULL)
        return NULL;
    char *line = alloc_string_n(text + strspn(text, " \t\r\n"), room);
    for (char *next = line; *next != '\0'; next++) {
        if ((unsigned char)*next < ' ')
            *next = ' ';
        else if (*next == ';')
            *next = ',';
    }
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        line[--length] = '\0';
    return line;
}

static char *section_of(const struct study *study)
{
    char *key = study_key(study);
    char *section = alloc_format("%s %08" PRIx32, study->kernel,
                                 (uint32_t)(XXH3_64bits(key, strlen(key)) & UINT32_MAX));
    free(key);
    return section;
}

static void set_environment(const struct environment *environment, struct tuned_entry *entry)
{
    const struct gpu *gpu = &environment->gpu;
    entry->gpu = alloc_string(gpu->name);
    entry->arch = alloc_string(gpu->arch);
    entry->compute_capability = gpu->compute_capability;
    entry->sm_count = (int)gpu->attributes[GPU_sm_count];
    entry->l2_bytes = gpu->attributes[GPU_l2_bytes];
    entry->memory_bytes = gpu->memory_bytes;
    entry->memory_gb_per_s = gpu_memory_gb_per_s(gpu);
    entry->driver = alloc_string(gpu->driver);
    entry->nvrtc = alloc_string(environment->nvrtc);
    entry->autotune = alloc_string(environment->autotune);
    entry->date = alloc_string(environment->date);
    entry->command = one_line(environment->command, TUNED_LINE_BYTES - strlen("command = "));
}

static void set_measurement(const struct result *winner, struct tuned_entry *entry)
{
    const struct summary *time = &winner->time;
    bindings_copy(&entry->parameters, &winner->parameters);
    entry->median_ns = time->median_ns;
    entry->low_ns = time->low_ns;
    entry->high_ns = time->high_ns;
    entry->samples = (int64_t)time->count;
    entry->runs = winner->runs > 1 ? winner->runs : 0;
    entry->gb_per_s = time->median_ns > 0 ? winner->bytes / time->median_ns : 0;
    entry->gflop_per_s = time->median_ns > 0 ? winner->operations / time->median_ns : 0;
    entry->registers = winner->stats.registers;
    entry->blocks_per_sm = winner->stats.blocks_per_sm;
    entry->occupancy = winner->stats.occupancy;
}

void tuned_entry_from_study(const struct study *study, struct tuned_entry *entry)
{
    const size_t best = study_best(study);
    const struct result *result = &study->results[best];
    *entry = (struct tuned_entry){.incomplete = !study->complete};
    entry->section = section_of(study);
    entry->kernel = alloc_string(study->kernel);
    entry->template_name = alloc_string(study->template_name);
    entry->template_hash = alloc_string(study->template_hash);
    entry->cache = alloc_string(study->cache);
    entry->empty_kernel_ns = study_empty_ns(study, result);
    entry->sm_clock_mhz = study->conditions.sm_clock_mhz;
    entry->dropped_samples = (int64_t)study->conditions.dropped_samples;
    entry->throttled_samples = (int64_t)study->conditions.throttled_samples;
    entry->other_processes = study->conditions.other_processes;
    if (study_is_partial(study)) {
        size_t in_vain;
        double within = study_estimate(study, &in_vain);
        entry->variants_tried = (int64_t)study->result_count;
        entry->within_percent = isnan(within) ? 0 : 100 * within;
        entry->variants_in_space = study_space(study) < INT64_MAX ? (int64_t)study_space(study) : 0;
    }
    bindings_copy(&entry->problem, &study->problem);
    set_environment(&study->environment, entry);
    set_measurement(result, entry);
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].tied && i != best)
            bindings_copy(ARRAY_APPEND(entry->ties, entry->tie_count),
                          &study->results[i].parameters);
}
