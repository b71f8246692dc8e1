/*
 * Whether files are on a network file system: there every write waits for a server, and locks may not
 * work between machines.
 */
#ifndef AUTOTUNE_FILE_SYSTEM_H
#define AUTOTUNE_FILE_SYSTEM_H

#include <stdbool.h>

/*
 * The name of the network file system that `path` is on, or would be on once it and its folders are
 * made: "NFS"; NULL if it is another file system, or cannot be asked. A static string.
 */
const char *file_system_network(const char *path);

/* Locks on open files, flock(), with a timeout; Ctrl-C ends the wait. */

/*
 * Takes the lock (`how`: LOCK_SH or LOCK_EX). While another process holds it, waits for at most
 * `timeout_ms` (negative: as long as it takes), and for at most half a second once the user wants to
 * end. Returns false if the other process still holds it. On a file system without locks, every process
 * gets it at once.
 */
bool file_lock_take(int file, int how, int timeout_ms);

#endif
