/*
 * Ctrl-C. The first SIGINT, SIGTERM or SIGHUP is noted, and waiting ends; work that may take longer
 * than a second asks interrupt_requested() and returns ERROR_INTERRUPTED. The second signal
 * terminates the process.
 */
#ifndef AUTOTUNE_INTERRUPT_H
#define AUTOTUNE_INTERRUPT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Installs the handlers. A SIGHUP that is ignored (nohup) stays ignored. A signal interrupts
 * the system calls that wait: poll(), nanosleep(), and send() with a timeout. All others resume. */
void interrupt_install(void);

/* Call when everything is stored: from now on, the first signal terminates the process. */
void interrupt_end(void);

/* True if a signal has arrived. */
bool interrupt_requested(void);

/* The end of a wait, on clock_ns(): `end_ns`, but half a second from now if a signal has arrived. */
int64_t interrupt_hurried(int64_t end_ns);

/* Holds the signals back until `*previous` is the mask again. */
void interrupt_block(sigset_t *previous);

/* poll() that returns -1 with EINTR if a signal arrives or has arrived before. A negative
 * `timeout_ns` waits forever. */
int interrupt_poll(struct pollfd *descriptors, size_t count, int64_t timeout_ns);

#endif
