#include "template/device_attributes.h"

#include <stddef.h>

static const char *const attribute_texts[] = {
#define X(name, suffix, text) text,
    GPU_ATTRIBUTES(X)
#undef X
};

static const char *const binding_names[] = {
    "compute_capability",
    "memory_bytes",
#define X(name, suffix, text) #name,
    GPU_ATTRIBUTES(X)
#undef X
        NULL,
};

const char *gpu_attribute_name(enum gpu_attribute attribute)
{
    return binding_names[2 + attribute];
}

const char *gpu_attribute_text(enum gpu_attribute attribute)
{
    return attribute_texts[attribute];
}

const char *const *gpu_binding_names(void)
{
    return binding_names;
}
