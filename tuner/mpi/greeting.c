#include "mpi/greeting.h"

#include "base/alloc.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/json_text.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Adds a file's bytes; false if it cannot be read. */
static bool add_file(struct hash *hash, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool good = hash_add_file(hash, file);
    (void)fclose(file); /* only read */
    return good;
}

/* What must be the same on all nodes: "0.1.0 (build 1a2b3c4d)"; NULL if `program` cannot be read. */
static char *describe_build(const char *program)
{
    enum { SHOWN = 12 };
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    bool good = add_file(hash, "/proc/self/exe") && add_file(hash, program);
    hash_finish(hash, digits);
    return good ? alloc_format("%s (build %.*s)", AUTOTUNE_VERSION, SHOWN, digits) : NULL;
}

/*
 * The cores for compile workers. A rank that is alone on its machine takes all that it may have,
 * whatever mpirun has bound it to; ranks that share one take what they are bound to or, if they are
 * not bound, equal shares.
 */
static size_t count_cores(const struct peers *peers)
{
    size_t ranks = (size_t)peers_on_this_host(peers);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (ranks == 1) {
        cpu_set_t all;
        memset(&all, 0xff, sizeof all);
        (void)sched_setaffinity(0, sizeof all, &all); /* the kernel leaves out what is not there */
    }
    size_t count = cores_usable();
    return ranks > 1 && (long)count >= online && count >= ranks ? count / ranks : count;
}

char *greeting_new(const struct peers *peers, const char *program)
{
    char host[HOST_NAME_MAX + 1] = "";
    char *build = describe_build(program);
    (void)gethostname(host, sizeof host - 1);
    json_t *greeting = json_pack("{s:s, s:I, s:s*}", "host", host, "cores",
                                 (json_int_t)count_cores(peers), "build", build);
    if (build == NULL) {
        char *text = alloc_format("cannot read '%s': %s", program, error_reason(errno));
        json_object_set_new(greeting, "error", json_string(text));
        free(text);
    }
    char *text = json_dumps(greeting, JSON_COMPACT);
    json_decref(greeting);
    free(build);
    return text;
}

int greeting_check(const json_t *other, const json_t *own, struct error *error)
{
    if (json_text_member(other, "error")[0] != '\0')
        return error_set(error, ERROR_DEVICE, "node '%s': %s", json_text_member(other, "host"),
                         json_text_member(other, "error"));
    if (strcmp(json_text_member(own, "build"), json_text_member(other, "build")) != 0)
        return error_set(
            error, ERROR_DEVICE,
            "node '%s' has autotune %s, and '%s' has %s; install the same on all nodes",
            json_text_member(other, "host"), json_text_member(other, "build"),
            json_text_member(own, "host"), json_text_member(own, "build"));
    return 0;
}
