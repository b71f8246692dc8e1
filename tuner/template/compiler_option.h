/*
 * Options that a template may not pass to NVRTC: those that make it write files. Options that read
 * files are allowed, since `#include` reads any file as well.
 */
#ifndef AUTOTUNE_COMPILER_OPTION_H
#define AUTOTUNE_COMPILER_OPTION_H

#include <stdbool.h>

/* `option` is one word of the template's `options`. */
bool compiler_option_writes_files(const char *option);

#endif
