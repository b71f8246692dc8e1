#include "tune/gpu_reply.h"

#include "base/alloc.h"
#include "base/json_text.h"

#include <limits.h>
#include <string.h>

enum { MOST_RUNS = 100 }; /* more than a batch has */

/* X(member of struct kernel_stats, its type, its most), in the order of the reply's list "stats"; bytes
 * and operations follow. */
#define STATS(X)                                                                                   \
    X(registers, int, INT_MAX)                                                                     \
    X(stack_bytes, int64_t, INT64_MAX)                                                             \
    X(static_shared_bytes, int64_t, INT64_MAX)                                                     \
    X(dynamic_shared_bytes, int64_t, INT64_MAX)                                                    \
    X(block_threads, int, INT_MAX)                                                                 \
    X(grid_blocks, int64_t, INT64_MAX)                                                             \
    X(blocks_per_sm, int, INT_MAX)

enum stat {
#define X(member, type, most) STAT_##member,
    STATS(X)
#undef X
        STAT_bytes,
    STAT_operations,
    STAT_COUNT
};

/* What the answer to each request about a variant has. */
static const struct kind {
    const char *request;
    const char *event;
    bool stats;
    bool samples;
    size_t durations;
} kinds[] = {
    {.request = "load", .event = "loaded", .stats = true},
    {.request = "verify", .event = "verified", .durations = 1},
    {.request = "measure", .event = "measured", .samples = true},
    {.request = "unload", .event = "unloaded"},
    {.request = "trial", .event = "tried", .stats = true, .samples = true, .durations = 4},
};

static double number_of(const json_t *message, const char *key)
{
    return json_number_value(json_object_get(message, key));
}

int64_t gpu_reply_integer(const json_t *reply, const char *key)
{
    return json_integer_value(json_object_get(reply, key));
}

static bool is_integer(const json_t *value, int64_t least, int64_t most)
{
    int64_t integer = json_integer_value(value);
    return json_is_integer(value) && integer >= least && integer <= most;
}

static bool is_number(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) >= 0;
}

int64_t gpu_reply_took_ns(const json_t *reply, enum gpu_duration which)
{
    return json_integer_value(json_array_get(json_object_get(reply, "took_ns"), which));
}

struct gpu_sampled gpu_reply_sampled(const json_t *reply)
{
    const json_t *sampled = json_object_get(reply, "sampled");
    return (struct gpu_sampled){.runs = (int)json_integer_value(json_array_get(sampled, 0)),
                                .single_ns = json_number_value(json_array_get(sampled, 1)),
                                .empty_batch_ns = json_number_value(json_array_get(sampled, 2))};
}

bool gpu_reply_has_times(const json_t *reply, const char *key, size_t least, size_t most)
{
    size_t index;
    json_t *time;
    json_t *times = json_object_get(reply, key);
    json_array_foreach(times, index, time)
    {
        if (!(json_number_value(time) > 0)) /* 0 of what is not a number */
            return false;
    }
    return json_array_size(times) >= least && json_array_size(times) <= most;
}

void gpu_reply_append_times(const json_t *reply, const char *key, double **times_ns, size_t *count)
{
    size_t index;
    json_t *time;
    json_array_foreach(json_object_get(reply, key), index, time)
    {
        *ARRAY_APPEND(*times_ns, *count) = json_number_value(time);
    }
}

bool gpu_reply_failed(const json_t *reply)
{
    return strcmp(json_text_member(reply, "event"), "failed") == 0;
}

/* A failure has an outcome that is one. */
static const char *failure_flaw(const json_t *reply)
{
    int outcome = outcome_from_name(json_text_member(reply, "outcome"));
    bool failed = outcome >= 0 && outcome != OUTCOME_MEASURED && outcome != OUTCOME_COMPILED &&
                  outcome != OUTCOME_DUPLICATE;
    return failed ? NULL : "outcome";
}

static const char *stats_flaw(const json_t *reply)
{
    const json_t *stats = json_object_get(reply, "stats");
#define X(member, type, most)                                                                      \
    if (!is_integer(json_array_get(stats, STAT_##member), 0, most))                                \
        return #member;
    STATS(X)
#undef X
    if (!is_number(json_array_get(stats, STAT_bytes)))
        return "bytes";
    if (!is_number(json_array_get(stats, STAT_operations)))
        return "operations";
    return json_is_string(json_object_get(reply, "entry")) ? NULL : "entry";
}

void gpu_reply_store_stats(const json_t *reply, struct result *result)
{
    const json_t *stats = json_object_get(reply, "stats");
#define X(member, type, most)                                                                      \
    result->stats.member = (type)json_integer_value(json_array_get(stats, STAT_##member));
    STATS(X)
#undef X
    result->bytes = json_number_value(json_array_get(stats, STAT_bytes));
    result->operations = json_number_value(json_array_get(stats, STAT_operations));
}

/* One sample is enough of a variant that is far too slow. */
static size_t least_samples(const json_t *request, const json_t *reply)
{
    double enough_ns = number_of(request, "enough_ns");
    bool too_slow = enough_ns > 0 && gpu_reply_sampled(reply).single_ns > enough_ns;
    return too_slow ? 1 : (size_t)gpu_reply_integer(request, "samples");
}

static const char *samples_flaw(const json_t *request, const json_t *reply)
{
    size_t most = (size_t)gpu_reply_integer(request, "samples");
    bool may_be_batched =
        json_is_true(json_object_get(request, "batched")) || number_of(request, "short_ns") > 0;
    if (!gpu_reply_has_times(reply, "samples_ns", least_samples(request, reply), most))
        return "samples_ns";
    const json_t *sampled = json_object_get(reply, "sampled");
    if (!is_integer(json_array_get(sampled, 0), 1, may_be_batched ? MOST_RUNS : 1))
        return "runs";
    if (!is_number(json_array_get(sampled, 1)))
        return "single_ns";
    return is_number(json_array_get(sampled, 2)) ? NULL : "empty_batch_ns";
}

static const char *flaw_of_kind(const struct kind *kind, const json_t *request, const json_t *reply)
{
    const char *flaw = NULL;
    if (strcmp(json_text_member(reply, "event"), kind->event) != 0)
        return "event";
    if (kind->stats)
        flaw = stats_flaw(reply);
    if (kind->samples && flaw == NULL)
        flaw = samples_flaw(request, reply);
    for (size_t i = 0; i < kind->durations && flaw == NULL; i++)
        if (!is_integer(json_array_get(json_object_get(reply, "took_ns"), i), 0, INT64_MAX))
            flaw = "took_ns";
    return flaw;
}

const char *gpu_reply_flaw(const json_t *request, const json_t *reply)
{
    if (gpu_reply_failed(reply))
        return failure_flaw(reply);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(json_text_member(request, "do"), kinds[i].request) == 0)
            return flaw_of_kind(&kinds[i], request, reply);
    return "event";
}
