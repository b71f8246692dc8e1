#include "record/instruction_kinds.h"

const char *sass_kind_name(enum sass_kind kind)
{
    static const char *const names[] = {
#define X(constant, name, text) name,
        SASS_KINDS(X)
#undef X
    };
    return names[kind];
}

const char *sass_kind_text(enum sass_kind kind)
{
    static const char *const texts[] = {
#define X(constant, name, text) text,
        SASS_KINDS(X)
#undef X
    };
    return texts[kind];
}
