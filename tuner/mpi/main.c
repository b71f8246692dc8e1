/*
 * autotune-mpi: autotune on all machines of a cluster. `autotune`, beside this program, is what they start.
 */
#include "base/alloc.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/path.h"
#include "mpi/ranks.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* autotune, which lies beside this program; a new string. */
static char *find_program(void)
{
    char *own = realpath("/proc/self/exe", NULL);
    char *program = path_beside(own != NULL ? own : "", "autotune");
    free(own);
    return program;
}

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

/* What a rank says of itself. */
static json_t *greeting_new(const struct peers *peers, const char *program)
{
    char host[HOST_NAME_MAX + 1] = "";
    char *build = describe_build(program);
    char *reason = build != NULL
                       ? NULL
                       : alloc_format("cannot read '%.400s': %s", program, error_reason(errno));
    (void)gethostname(host, sizeof host - 1);
    json_t *greeting = json_pack("{s:o, s:I, s:o, s:o}", "host", json_text(host), "cores",
                                 (json_int_t)count_cores(peers), "build", json_text(build), "error",
                                 json_text(reason));
    free(reason);
    free(build);
    return greeting;
}

int main(int argc, char **argv)
{
    struct peers *peers;
    struct error error = {0};
    bool orderly = true;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    int status = peers_new(&peers, &argc, &argv, &error);
    if (status == 0) {
        char *program = find_program();
        json_t *greetings = peers_greet(peers, greeting_new(peers, program));
        argv[0] = program;
        interrupt_install();
        status = peers_rank(peers) == 0 ? hub_run(peers, argv, greetings, &orderly, &error)
                                        : agent_run(peers, program, &orderly, &error);
        json_decref(greetings);
        free(program);
    }
    if (status < 0) {
        error_print(&error, stderr);
        status = error_exit_status(status);
        orderly = false;
    }
    (void)fflush(stderr);
    if (peers != NULL && !orderly)
        peers_abort(peers, status);
    if (peers != NULL)
        peers_free(peers);
    return status;
}
