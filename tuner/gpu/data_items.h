/*
 * The list of a data store: buffers and expected results, each for one combination of the values of
 * the parameters that it depends on, and when each was last used. Members are the template's
 * buffers, followed by its expectations.
 */
#ifndef AUTOTUNE_DATA_ITEMS_H
#define AUTOTUNE_DATA_ITEMS_H

#include "gpu/data_places.h"
#include "gpu/device_buffer.h"
#include "gpu/device_context.h"
#include "gpu/inspect.h"
#include "template/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct data_item {
    size_t member;
    struct bindings key;           /* the values of just those parameters */
    struct device_buffer buffer;   /* of an expectation: what is expected */
    struct data_places places;     /* of `buffer` */
    struct device_buffer pristine; /* initial contents of a read_write buffer */
    uint64_t sums[SUMS];
    uint64_t fingerprint; /* of what no variant may change: see data_item_constant() */
    bool stale;           /* its contents are to be made again, in the same memory */
    uint64_t used;        /* when last */
    uint64_t intact; /* data_store.runs when its contents were last found unchanged; 0: never */
};

struct data_items {
    struct device_context *device;
    const struct template *template;
    bool *depends; /* of each member on each parameter */
    struct data_item **list;
    size_t count;
    uint64_t time;        /* counts the variants that were served */
    uint64_t kept_bytes;  /* of what depends on parameters */
    uint64_t place_bytes; /* may still be allocated for more places of buffers */
};

void data_items_init(struct data_items *items, struct device_context *device,
                     const struct template *template);
void data_items_release(struct data_items *items); /* zeroed items are allowed */

size_t data_items_members(const struct data_items *items);
bool data_items_is_scratch(const struct data_items *items, size_t member);
bool data_items_is_dependent(const struct data_items *items, size_t member);

/* The key of a member for these parameters (NULL: none); release it. */
struct bindings data_items_key(const struct data_items *items, size_t member,
                               const struct bindings *parameters);

/* NULL if there is none. */
struct data_item *data_items_find(const struct data_items *items, size_t member,
                                  const struct bindings *key);

/* What no variant may change: a read buffer, the initial contents of a read_write one, or an expected
 * result; NULL for a write buffer. */
const struct device_buffer *data_item_constant(const struct data_items *items,
                                               const struct data_item *item);

/* Adds an item, in use and without buffers. Takes over the key. */
struct data_item *data_items_add(struct data_items *items, size_t member, struct bindings *key);

/* Frees an item, with its buffers. */
void data_items_remove(struct data_items *items, const struct data_item *item);

/* Begins to serve a variant with these parameters: its existing data is then in use. */
void data_items_serve(struct data_items *items, const struct bindings *parameters);

/* Frees the least recently used item that the variant being served does not use; false if there is
 * none. */
bool data_items_remove_oldest(struct data_items *items);

/* Frees all places that no buffer needs; false if there are none. */
bool data_items_remove_places(struct data_items *items);

#endif
