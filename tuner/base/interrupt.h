/*
 * Ctrl-C: SIGINT, SIGTERM and SIGHUP are held back but for the moments in which the coordinator
 * waits, so that they arrive where nothing is half done. The second one ends the process at once.
 */
#ifndef AUTOTUNE_INTERRUPT_H
#define AUTOTUNE_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Installs the handlers and holds the signals back from now on. */
void interrupt_install(void);

/* Whether one has come. */
bool interrupt_requested(void);

/* poll() with the signals let through; `timeout_ns` < 0 waits for ever. As poll(): -1 with EINTR
 * after one. */
int interrupt_poll(struct pollfd *descriptors, size_t count, int64_t timeout_ns);

#endif
