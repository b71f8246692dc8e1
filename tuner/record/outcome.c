#include "record/outcome.h"

#include <string.h>

static const struct {
    const char *name;
    const char *meaning;
} outcomes[] = {
#define X(name, text, meaning) [OUTCOME_##name] = {text, meaning},
    OUTCOMES(X)
#undef X
};

const char *outcome_name(enum outcome outcome)
{
    return outcomes[outcome].name;
}

const char *outcome_meaning(enum outcome outcome)
{
    return outcomes[outcome].meaning;
}

int outcome_from_name(const char *name)
{
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(outcomes[i].name, name) == 0)
            return i;
    return -1;
}
