/*
 * Options that a template may not pass to NVRTC: those that make it write files, and those that add
 * headers or include folders, because autotune must know which files are compiled. Use the
 * template's `include` or an #include in the source instead.
 */
#ifndef AUTOTUNE_COMPILER_OPTION_H
#define AUTOTUNE_COMPILER_OPTION_H

#include <stdbool.h>

/* `option` is one word of the template's `options`. */
bool compiler_option_writes_files(const char *option);
bool compiler_option_includes_files(const char *option);

/* Whether it defines or undefines a macro. */
bool compiler_option_defines(const char *option);

#endif
