#include "tune/compile_ahead.h"

#include "base/interrupt.h"

/* Beside the references, one of each job. A job that is held is compiled, or waits for a compiler or a
 * GPU; with few workers, a thousand take little memory. */
enum { LEAST_HELD = 1024, HELD_BY_WORKER = 2 };

static size_t most_held(const struct compile_ahead *ahead)
{
    size_t held = HELD_BY_WORKER * ahead->workers;
    return (held > LEAST_HELD ? held : LEAST_HELD) + ahead->job_count;
}

/* Goes on to the job whose turn it is; false if nothing is left to request. */
static bool find_next(struct compile_ahead *ahead)
{
    const struct tuning_job *jobs = ahead->jobs;
    while (ahead->next < ahead->job_count && ahead->sample > 0 &&
           jobs[ahead->next].requested >= ahead->sample)
        ahead->next++;
    if (ahead->next == ahead->job_count && ahead->sample > 0) {
        ahead->sample = 0;
        ahead->next = 0;
    }
    return ahead->next < ahead->job_count;
}

int compile_ahead_next(struct compile_ahead *ahead, struct error *error)
{
    int status = 0;
    while (status == 0 && find_next(ahead) &&
           compile_pool_counts(ahead->pool).held < most_held(ahead)) {
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED, "interrupted");
        status = tuning_job_compile_next(&ahead->jobs[ahead->next], ahead->pool, error);
        ahead->next += status == 0;
    }
    return status;
}

int compile_ahead_fill(struct compile_ahead *ahead, struct error *error)
{
    int status = 1;
    while (status == 1)
        status = compile_ahead_next(ahead, error);
    return status;
}

size_t compile_ahead_left(const struct compile_ahead *ahead)
{
    size_t left = 0;
    for (size_t i = 0; i < ahead->job_count; i++)
        left += ahead->jobs[i].order_count - ahead->jobs[i].requested;
    return left;
}
