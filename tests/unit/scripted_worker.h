/*
 * Worker processes that follow a script. The coordinator starts a worker as /proc/self/exe
 * (base/worker.h), so a test program can be its own workers, and what it tests talks to real
 * processes: TEST_WORKER(scripted_worker_main) (test.h), or a main() that returns scripted_worker_main(argv)
 * if it has arguments.
 *
 * Without a script they behave. A compile worker writes a cache entry with one kernel, "kernel", of
 * 32 registers. A device worker says that each variant takes `us` microseconds, which is a
 * parameter of the variant, with noise of 0.1 %, and none if it is
 * hopeless by its verified run; below the request's `short_ns`, or if a batch is
 * asked for, samples are of 32 runs.
 *
 * A script is the file "script" in the current folder (scratch.h), with a line for each exception:
 *
 *     REQUEST WHEN ACTION [ARGUMENT]
 *
 *     trial 2 die 3               the second trial ends its worker with exit status 3
 *     measure:us=20 * hang        whenever the variant with us = 20 is measured
 *
 * REQUEST is a request's name in compile_worker.h or device_worker.h, or "compiler" or "device",
 * the greetings; "trial@1" is one of GPU 1 alone, and "trial" one of any. WHEN counts these requests from 1, over all workers, so that a worker's successor
 * goes on counting: "2", "2-4", "2-", or "*" for all. The first line that matches is followed. The
 * table of actions is in scripted_worker.c.
 */
#ifndef AUTOTUNE_TEST_SCRIPTED_WORKER_H
#define AUTOTUNE_TEST_SCRIPTED_WORKER_H

#include <stddef.h>

enum { SCRIPTED_REGISTERS = 32, SCRIPTED_RUNS = 32 };

/* Plays a worker; returns its exit status. */
int scripted_worker_main(char **argv);

/* Replaces the script; counts go on. */
void scripted_worker_script(const char *lines);

/* How many requests there were so far: of "trial", of "trial:us=20". */
size_t scripted_worker_count(const char *request);

/* The variants' `us` in the order of these requests, "20 30 20"; a new string. */
char *scripted_worker_order(const char *request);

#endif
