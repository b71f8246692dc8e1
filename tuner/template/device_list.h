/* The GPUs to tune on, as --device and a sweep's `device` key name them: "0", "0, 2, 3" or "all". */
#ifndef AUTOTUNE_DEVICE_LIST_H
#define AUTOTUNE_DEVICE_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { DEVICES_MOST = 64 };

/* Zeroed: not stated. */
struct device_list {
    bool all;
    int ordinals[DEVICES_MOST]; /* counted from 0, each once, as listed */
    size_t count;
};

/* Returns false, with `list` zeroed, if `text` is neither "all" nor different numbers, separated by
 * commas. */
bool device_list_parse(const char *text, struct device_list *list);

bool device_list_is_stated(const struct device_list *list);

#endif
