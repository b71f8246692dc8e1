#include "hangs.h"

#include "alloc.h"

#include <stdlib.h>

void hangs_release(struct hangs *hangs)
{
    free(hangs->recoveries_ns);
    *hangs = (struct hangs){0};
}

void hangs_add(struct hangs *hangs, int64_t deadline_ns)
{
    hangs->count++;
    hangs->since_ns = deadline_ns;
    hangs->idle_ns = 0;
}

void hangs_idle(struct hangs *hangs, int64_t now_ns)
{
    if (hangs->since_ns != 0)
        hangs->idle_ns = now_ns;
}

void hangs_busy(struct hangs *hangs, int64_t now_ns)
{
    if (hangs->idle_ns != 0)
        hangs->since_ns += now_ns - hangs->idle_ns;
    hangs->idle_ns = 0;
}

void hangs_measured(struct hangs *hangs, int64_t now_ns)
{
    if (hangs->since_ns != 0)
        *ARRAY_APPEND(hangs->recoveries_ns, hangs->recovery_count) =
            (double)(now_ns - hangs->since_ns);
    hangs_failed(hangs);
}

void hangs_failed(struct hangs *hangs)
{
    hangs->since_ns = 0;
    hangs->idle_ns = 0;
}
