#include "template/compiler_option.h"

#include <stddef.h>
#include <string.h>

/* Names without their dashes, as found with NVRTC 13.0. */
static const char *const writers[] = {
    "create-pch",
    "pch",
    "pch-dir",
    "time",
    "fdevice-time-trace",
    "Xcudafe", /* undocumented: passes on --list, --xref, --error_output, … */
    "Xnvvm",   /* undocumented as well */
    /* of ptxas, which --ptxas-options and -Xptxas pass on; a file of options can hold any other */
    "compiler-stats-file",
    "o",
    "output-file",
    "options-file",
    "optf",
};

/* `text` behind `prefix`, or `text` itself if it does not begin so. */
static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : text;
}

/* The option's name without dashes; behind --ptxas-options= or -Xptxas=, that of ptxas's option. */
static const char *name_of(const char *option)
{
    const char *name = skip(option + strspn(option, "-"), "ptxas-options=");
    name = skip(name, "Xptxas=");
    return name + strspn(name, "-");
}

bool compiler_option_takes_value(const char *option)
{
    const char *name = name_of(option);
    size_t length = strcspn(name, "=");
    return option[0] == '-' && length > 0 && strcmp(name + length, "=") == 0 &&
           strcmp(name, "ptxas-options=") != 0 && strcmp(name, "Xptxas=") != 0;
}

const char *compiler_option_value(const char *option, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(option, prefix, length) == 0 ? option + length : NULL;
}

const char *const *compiler_feature_names(void)
{
    static const char *const names[] = {"portable", "architecture", NULL};
    return names;
}

bool compiler_option_writes_files(const char *option)
{
    if (option[0] != '-')
        return false;
    const char *name = name_of(option);
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (strlen(writers[i]) == length && strncmp(name, writers[i], length) == 0)
            return true;
    return false;
}

/* Whether the option is one of `names`, with or without a value. */
static bool is_one_of(const char *option, const char *const *names, size_t count)
{
    const char *name = option + strspn(option, "-");
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < count && option[0] == '-'; i++)
        if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0)
            return true;
    return false;
}

bool compiler_option_includes_files(const char *option)
{
    static const char *const names[] = {"include-path", "include", "pre-include", "autotune-unit",
                                        "autotune-header"};
    return strncmp(option, "-I", 2) == 0 || is_one_of(option, names, sizeof names / sizeof *names);
}

bool compiler_option_defines(const char *option)
{
    static const char *const names[] = {"define-macro", "undefine-macro"};
    return strncmp(option, "-D", 2) == 0 || strncmp(option, "-U", 2) == 0 ||
           is_one_of(option, names, sizeof names / sizeof *names);
}
