/*
 * A locale that writes numbers as 0,5, which an application may have set: made for the test, since
 * few machines have one installed.
 *
 *     if (!comma_locale_enter())
 *         skip();
 *     …
 *     comma_locale_leave();
 */
#ifndef AUTOTUNE_TESTS_COMMA_LOCALE_H
#define AUTOTUNE_TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* False, with a word to the tester, if localedef cannot make the locale. */
static inline bool comma_locale_enter(void)
{
    static const char make[] =
        "d=$(mktemp -d) && printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\n"
        "grouping 3;3\\nEND LC_NUMERIC\\n' >$d/source && "
        "localedef --quiet --force -i $d/source -f ANSI_X3.4-1968 $d/xx_XX >$d/log 2>&1; "
        "echo $d";
    char folder[256] = "";
    FILE *shell = popen(make, "r");
    if (shell != NULL) {
        if (fgets(folder, sizeof folder, shell) == NULL)
            folder[0] = '\0';
        (void)pclose(shell);
    }
    folder[strcspn(folder, "\n")] = '\0';
    bool entered = folder[0] != '\0' && setenv("LOCPATH", folder, 1) == 0 &&
                   setlocale(LC_NUMERIC, "xx_XX") != NULL &&
                   strcmp(localeconv()->decimal_point, ",") == 0;
    if (!entered)
        fputs("skipped: localedef cannot make a locale with a decimal comma here\n", stderr);
    if (folder[0] != '\0') {
        char command[300];
        (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command) != 0)
            fprintf(stderr, "cannot remove %s\n", folder);
    }
    return entered;
}

static inline void comma_locale_leave(void)
{
    (void)setlocale(LC_NUMERIC, "C");
    (void)unsetenv("LOCPATH");
}

#endif
