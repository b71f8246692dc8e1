#include "tune/compile_ahead.h"

#include "base/interrupt.h"

enum { MOST_HELD = 1024 }; /* beside the references, one of each job */

int compile_ahead_fill(struct compile_ahead *ahead, struct error *error)
{
    while (ahead->next < ahead->job_count &&
           compile_pool_held(ahead->pool) < MOST_HELD + ahead->job_count) {
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED, "interrupted");
        int status = tuning_job_compile_next(&ahead->jobs[ahead->next], ahead->pool, error);
        if (status < 0)
            return status;
        ahead->next += status == 0;
    }
    return 0;
}
