#include "tune/compile_doubt.h"

#include <stdio.h>
#include <string.h>

bool compile_doubt_note(struct compile_doubt *doubt, const char *reason)
{
    if (doubt->settled)
        return false;
    if (reason != NULL && doubt->failures == 0)
        (void)snprintf(doubt->reason, sizeof doubt->reason, "%s", reason);
    bool alike = reason != NULL && strncmp(doubt->reason, reason, sizeof doubt->reason - 1) == 0;
    doubt->failures += alike;
    doubt->settled = !alike || doubt->failures == DOUBT_VARIANTS;
    return alike && doubt->settled;
}
