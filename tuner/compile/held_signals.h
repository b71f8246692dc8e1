/*
 * SIGINT and SIGTERM while NVRTC compiles. In the first compilation of a process, NVRTC handles them for
 * some tens of milliseconds, by ending the process with status 4, whatever the program would do. They are
 * blocked meanwhile; then the program has its handlers back, with the flags that NVRTC loses, and answers
 * them while NVRTC goes on.
 *
 *     held_signals_begin(&held);
 *     nvrtcSetFlowCallback(program, held_signals_step, &held);
 *     nvrtcCompileProgram(program, …);
 *     held_signals_end(&held);
 *
 * They are blocked in the calling thread only. If NVRTC's handler runs in another one, the process ends.
 */
#ifndef AUTOTUNE_HELD_SIGNALS_H
#define AUTOTUNE_HELD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

enum { HELD_SIGNAL_COUNT = 2 };

struct held_signals {
    bool held;
    sigset_t previous; /* the thread's mask */
    struct sigaction actions[HELD_SIGNAL_COUNT];
};

void held_signals_begin(struct held_signals *held);

/* For nvrtcSetFlowCallback(), with the struct held_signals as payload: lets the signals in as soon as
 * NVRTC no longer handles them, and ends the compilation if the user wants to end (base/interrupt.h). */
int held_signals_step(void *payload, void *reserved);

/* Lets the signals in, unless held_signals_step() has. */
void held_signals_end(struct held_signals *held);

#endif
