#include "template/installed.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef AUTOTUNE_DATADIR
#define AUTOTUNE_DATADIR "/usr/local/share/autotune/kernel_templates"
#endif
#ifndef AUTOTUNE_DATADIR_FROM_BINDIR
#define AUTOTUNE_DATADIR_FROM_BINDIR "../share/autotune/kernel_templates"
#endif

char *installed_templates(void)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
        *strrchr(program, '/') = '\0'; /* the kernel's answer is absolute */
        char *folder = alloc_format("%s/" AUTOTUNE_DATADIR_FROM_BINDIR, program);
        char *real = realpath(folder, NULL);
        free(folder);
        if (real != NULL)
            return real;
    }
    return alloc_string(AUTOTUNE_DATADIR);
}
