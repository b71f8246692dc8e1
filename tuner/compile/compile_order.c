#include "compile/compile_order.h"

#include "base/alloc.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Of the average: effects do not always add up. */
#define LEAST_SHARE 0.1

struct times {
    const char *source_hash;
    const char *option; /* "": the source */
    size_t count;
    double sum_s;
};

static int compare_times(const void *a, const void *b)
{
    const struct times *first = a;
    const struct times *second = b;
    int sources = strcmp(first->source_hash, second->source_hash);
    return sources != 0 ? sources : strcmp(first->option, second->option);
}

static void free_times(void *node)
{
    struct times *times = node;
    free((char *)times->source_hash);
    free((char *)times->option);
    free(times);
}

void compile_order_release(struct compile_order *order)
{
    tdestroy(order->times, free_times);
    *order = (struct compile_order){0};
}

/* NULL if there is none. */
static struct times *find(const struct compile_order *order, const char *source_hash,
                          const char *option)
{
    const struct times wanted = {.source_hash = source_hash, .option = option};
    struct times **found = tfind(&wanted, &order->times, compare_times);
    return found != NULL ? *found : NULL;
}

static void add(struct compile_order *order, const char *source_hash, const char *option,
                double seconds)
{
    struct times *times = find(order, source_hash, option);
    if (times == NULL) {
        times = alloc_zeroed(1, sizeof *times);
        times->source_hash = alloc_string(source_hash);
        times->option = alloc_string(option);
        if (tsearch(times, &order->times, compare_times) == NULL)
            abort();
    }
    times->count++;
    times->sum_s += seconds;
}

void compile_order_note(struct compile_order *order, const char *source_hash,
                        const struct options *options, double seconds)
{
    add(order, source_hash, "", seconds);
    for (size_t i = 0; i < options->count; i++)
        add(order, source_hash, options->items[i], seconds);
}

double compile_order_expect(const struct compile_order *order, const char *source_hash,
                            const struct options *options)
{
    const struct times *all = find(order, source_hash, "");
    if (all == NULL)
        return 0;
    double average_s = all->sum_s / (double)all->count;
    double expected_s = average_s;
    for (size_t i = 0; i < options->count; i++) {
        const struct times *with = find(order, source_hash, options->items[i]);
        if (with != NULL)
            expected_s += with->sum_s / (double)with->count - average_s;
    }
    return fmax(expected_s, LEAST_SHARE * average_s);
}
