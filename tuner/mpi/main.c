/*
 * autotune-mpi: autotune on all machines of a cluster. Rank 0 starts the coordinator (hub.h), the
 * others are agents of it (agent.h). `autotune`, beside this program, is what they start.
 */
#include "base/interrupt.h"
#include "base/path.h"
#include "mpi/agent.h"
#include "mpi/greeting.h"
#include "mpi/hub.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* autotune, which lies beside this program; a new string. */
static char *find_program(void)
{
    char *own = realpath("/proc/self/exe", NULL);
    char *program = path_beside(own != NULL ? own : "", "autotune");
    free(own);
    return program;
}

static int serve_as_agent(struct peers *peers, const char *program, const char *greeting,
                          bool *orderly, struct error *error)
{
    interrupt_install();
    peers_send(peers, 0, PACKET_HELLO, 0, greeting, strlen(greeting));
    return agent_run(peers, program, orderly, error);
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
        char *greeting = greeting_new(peers, program);
        argv[0] = program;
        const struct hub_start start = {program, argv, greeting};
        status = peers_rank(peers) == 0
                     ? hub_run(peers, &start, &orderly, &error)
                     : serve_as_agent(peers, program, greeting, &orderly, &error);
        free(greeting);
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
