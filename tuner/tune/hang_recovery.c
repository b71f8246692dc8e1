#include "tune/hang_recovery.h"

#include "base/alloc.h"

#include <stdlib.h>

void hang_recovery_release(struct hang_recovery *hangs)
{
    free(hangs->recoveries_ns);
    *hangs = (struct hang_recovery){0};
}

void hang_recovery_add(struct hang_recovery *hangs, int64_t deadline_ns)
{
    hangs->count++;
    hangs->since_ns = deadline_ns;
    hangs->idle_ns = 0;
}

void hang_recovery_idle(struct hang_recovery *hangs, int64_t now_ns)
{
    if (hangs->since_ns != 0)
        hangs->idle_ns = now_ns;
}

void hang_recovery_busy(struct hang_recovery *hangs, int64_t now_ns)
{
    if (hangs->idle_ns != 0)
        hangs->since_ns += now_ns - hangs->idle_ns;
    hangs->idle_ns = 0;
}

void hang_recovery_measured(struct hang_recovery *hangs, int64_t now_ns)
{
    if (hangs->since_ns != 0)
        *ARRAY_APPEND(hangs->recoveries_ns, hangs->recovery_count) =
            (double)(now_ns - hangs->since_ns);
    hang_recovery_failed(hangs);
}

void hang_recovery_failed(struct hang_recovery *hangs)
{
    hangs->since_ns = 0;
    hangs->idle_ns = 0;
}
