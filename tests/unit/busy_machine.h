/*
 * A machine that is busy: one processor for the test, for the workers that it starts, and for eight
 * processes that never sleep.
 *
 * A worker gets a ninth of the processor. Give it work for at most a fifth of its limit: what else may
 * keep it, such as a disk or the machine's host, is not noted as waiting for a processor.
 */
#ifndef AUTOTUNE_TESTS_BUSY_MACHINE_H
#define AUTOTUNE_TESTS_BUSY_MACHINE_H

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUSY_PROCESSES = 8 };

struct busy_machine {
    cpu_set_t processors; /* before */
    pid_t processes[BUSY_PROCESSES];
};

static inline void busy_machine_begin(struct busy_machine *machine)
{
    cpu_set_t one;
    int processor = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    (void)sched_getaffinity(0, sizeof machine->processors, &machine->processors);
    (void)sched_setaffinity(0, sizeof one, &one);
    for (size_t i = 0; i < BUSY_PROCESSES; i++) {
        machine->processes[i] = fork();
        if (machine->processes[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile int spin = 0;; spin = spin == 0)
                ;
        }
    }
}

static inline void busy_machine_end(const struct busy_machine *machine)
{
    for (size_t i = 0; i < BUSY_PROCESSES; i++) {
        (void)kill(machine->processes[i], SIGKILL);
        (void)waitpid(machine->processes[i], NULL, 0);
    }
    (void)sched_setaffinity(0, sizeof machine->processors, &machine->processors);
}

#endif
