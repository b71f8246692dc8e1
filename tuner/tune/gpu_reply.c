#include "tune/gpu_reply.h"

#include "base/alloc.h"
#include "base/json_text.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 100 };               /* more than a batch has */
#define MOST_INTEGER 9007199254740992.0 /* 2^53: those below are exact as doubles */

/* X(member of struct kernel_stats, its type, its most), in the order of "stats"; bytes and operations
 * follow. */
#define STATS(X)                                                                                   \
    X(registers, int, INT_MAX)                                                                     \
    X(stack_bytes, int64_t, MOST_INTEGER)                                                          \
    X(static_shared_bytes, int64_t, MOST_INTEGER)                                                  \
    X(dynamic_shared_bytes, int64_t, MOST_INTEGER)                                                 \
    X(block_threads, int, INT_MAX)                                                                 \
    X(grid_blocks, int64_t, MOST_INTEGER)                                                          \
    X(blocks_per_sm, int, INT_MAX)

/* What the answer to each request about a variant has. */
static const struct kind {
    const char *request;
    const char *event;
    size_t durations;
    bool stats;
    bool samples;
} kinds[] = {
    {.request = "load", .event = "loaded", .stats = true},
    {.request = "verify", .event = "verified", .durations = 1},
    {.request = "measure", .event = "measured", .samples = true},
    {.request = "unload", .event = "unloaded"},
    {.request = "trial",
     .event = "tried",
     .durations = GPU_DURATIONS,
     .stats = true,
     .samples = true},
};

int64_t gpu_reply_integer(const json_t *reply, const char *key)
{
    return json_integer_value(json_object_get(reply, key));
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

/* --- the numbers of a reply --- */

/* All numbers of its lists, in this order; NaN for what is not a number. A new array. */
static double *collect(const json_t *reply, size_t *count)
{
    static const char *const lists[] = {"took_ns", "stats", "sampled", "samples_ns"};
    double *numbers = NULL;
    size_t index;
    json_t *number;
    *count = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        json_array_foreach(json_object_get(reply, lists[i]), index, number)
        {
            *ARRAY_APPEND(numbers, *count) =
                json_is_number(number) ? json_number_value(number) : NAN;
        }
    return numbers;
}

/* The numbers that are left to be read. */
struct reader {
    const double *next;
    size_t left;
};

/* NaN if there is none. */
static double take(struct reader *reader)
{
    if (reader->left == 0)
        return NAN;
    reader->left--;
    return *reader->next++;
}

static bool is_integer(double number, double least, double most)
{
    return number >= least && number <= most && number == floor(number);
}

static bool is_number(double number)
{
    return number >= 0 && isfinite(number);
}

static const char *read_durations(struct reader *reader, size_t count, struct gpu_reply *read)
{
    for (size_t i = 0; i < count; i++) {
        double took_ns = take(reader);
        if (!is_integer(took_ns, 0, MOST_INTEGER))
            return "took_ns";
        read->took_ns[i] = (int64_t)took_ns;
    }
    return NULL;
}

static const char *read_stats(struct reader *reader, struct gpu_reply *read)
{
    double number;
#define X(member, type, most)                                                                      \
    number = take(reader);                                                                         \
    if (!is_integer(number, 0, most))                                                              \
        return #member;                                                                            \
    read->stats.member = (type)number;
    STATS(X)
#undef X
    read->bytes = take(reader);
    if (!is_number(read->bytes))
        return "bytes";
    read->operations = take(reader);
    return is_number(read->operations) ? NULL : "operations";
}

/* One sample is enough of a variant that is far too slow. */
static size_t least_samples(const struct gpu_request *request, double single_ns)
{
    bool too_slow = request->enough_ns > 0 && single_ns > request->enough_ns;
    return too_slow ? 1 : request->samples;
}

static const char *read_samples(struct reader *reader, const struct gpu_request *request,
                                struct gpu_reply *read)
{
    double runs = take(reader);
    if (!is_integer(runs, 1, request->may_be_batched ? MOST_RUNS : 1))
        return "runs";
    read->runs = (int)runs;
    read->single_ns = take(reader);
    if (!is_number(read->single_ns))
        return "single_ns";
    read->empty_batch_ns = take(reader);
    if (!is_number(read->empty_batch_ns))
        return "empty_batch_ns";
    read->samples_ns = reader->next;
    read->sample_count = reader->left;
    for (size_t i = 0; i < read->sample_count; i++)
        if (!is_number(read->samples_ns[i]) || read->samples_ns[i] == 0)
            return "samples_ns";
    bool fits = read->sample_count >= least_samples(request, read->single_ns) &&
                read->sample_count <= request->samples;
    return fits ? NULL : "samples_ns";
}

static const char *read_kind(const struct kind *kind, const struct gpu_request *request,
                             const json_t *reply, struct gpu_reply *read)
{
    const char *flaw = NULL;
    if (strcmp(json_text_member(reply, "event"), kind->event) != 0)
        return "event";
    struct reader reader = {.left = 0};
    reader.next = read->numbers = collect(reply, &reader.left);
    flaw = read_durations(&reader, kind->durations, read);
    if (kind->stats && flaw == NULL)
        flaw = read_stats(&reader, read);
    if (kind->stats && flaw == NULL) {
        read->entry = json_string_value(json_object_get(reply, "entry"));
        flaw = read->entry != NULL ? NULL : "entry";
    }
    if (kind->samples && flaw == NULL)
        flaw = read_samples(&reader, request, read);
    return flaw;
}

const char *gpu_reply_read(struct gpu_reply *read, const struct gpu_request *request,
                           const json_t *reply)
{
    free(read->numbers);
    *read = (struct gpu_reply){0};
    if (gpu_reply_failed(reply))
        return failure_flaw(reply);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(request->what, kinds[i].request) == 0)
            return read_kind(&kinds[i], request, reply, read);
    return "event";
}

void gpu_reply_store_stats(const struct gpu_reply *read, struct result *result)
{
#define X(member, type, most) result->stats.member = read->stats.member;
    STATS(X)
#undef X
    result->bytes = read->bytes;
    result->operations = read->operations;
}
