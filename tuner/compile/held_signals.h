/*
 * SIGINT and SIGTERM while NVRTC compiles. It handles them by ending the process with status 4, whatever the
 * program would do. Here they wait until the compiler has returned, and those that end the program make it return
 * at once (nvrtcSetFlowCallback()).
 */
#ifndef AUTOTUNE_HELD_SIGNALS_H
#define AUTOTUNE_HELD_SIGNALS_H

#include <signal.h>

struct held_signals {
    sigset_t previous; /* the thread's mask */
    sigset_t fatal;    /* those of them that end the program */
};

void held_signals_begin(struct held_signals *held);

/* For nvrtcSetFlowCallback(), with the struct held_signals as payload. */
int held_signals_cancel(void *payload, void *reserved);

/* What has come meanwhile, comes now. */
void held_signals_end(const struct held_signals *held);

#endif
