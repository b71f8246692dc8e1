/*
 * Guesses the architecture of this machine's GPUs from the kernel driver's files in /proc and /sys. It
 * takes microseconds; asking the driver takes 0.1 s or more. Whatever depends on the guess must be
 * checked against the GPU.
 */
#ifndef AUTOTUNE_GPU_GUESS_H
#define AUTOTUNE_GPU_GUESS_H

#include <stdbool.h>

enum { GPU_GUESS_BYTES = 16 };

/* Sets `arch`, for example to "sm_90". False if there are no such files, if a GPU is not known, or if
 * not all are of one architecture. `root` is "", but for tests. */
bool gpu_guess_arch(const char *root, char arch[GPU_GUESS_BYTES]);

#endif
