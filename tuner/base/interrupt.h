/*
 * Ctrl-C. SIGINT, SIGTERM and SIGHUP stay blocked except while the coordinator waits in
 * interrupt_poll(), so that a signal never interrupts work that is half done. A second signal
 * terminates the process.
 */
#ifndef AUTOTUNE_INTERRUPT_H
#define AUTOTUNE_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Installs the handlers and blocks the signals. */
void interrupt_install(void);

/* True if a signal has arrived. */
bool interrupt_requested(void);

/* poll() with the signals unblocked. A negative `timeout_ns` waits forever. Returns -1 with EINTR
 * if a signal arrives. */
int interrupt_poll(struct pollfd *descriptors, size_t count, int64_t timeout_ns);

#endif
