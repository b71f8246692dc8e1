/* Locks on open files, flock(), with a timeout; Ctrl-C ends the wait. */
#ifndef AUTOTUNE_FILE_LOCK_H
#define AUTOTUNE_FILE_LOCK_H

#include <stdbool.h>

/*
 * Takes the lock (`how`: LOCK_SH or LOCK_EX). While another process holds it, waits for at most
 * `timeout_ms` (negative: as long as it takes), and for at most half a second once the user wants to
 * end. Returns false if the other process still holds it. On a file system without locks, every process
 * gets it at once.
 */
bool file_lock_take(int file, int how, int timeout_ms);

#endif
