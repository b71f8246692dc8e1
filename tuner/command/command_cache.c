#include "command/command.h"

#include "compile/cubin_cache.h"
#include "compile/cubin_cache_limit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_oldest(int64_t seconds)
{
    char text[32] = "unknown";
    struct tm local;
    time_t date = (time_t)seconds;
    if (localtime_r(&date, &local) != NULL)
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
    printf("oldest   last used %s\n", text);
}

static int show(const char *folder, struct error *error)
{
    uint64_t limit;
    struct cubin_cache_contents contents;
    int status = cubin_cache_limit(&limit, error);
    if (status == 0)
        status = cubin_cache_measure(folder, &contents, error);
    if (status != 0)
        return status;
    printf("folder   %s/cubin\nentries  %zu\nsize     %.1f MiB\nlimit    %.0f MiB\n", folder,
           contents.entries, mebibytes(contents.bytes), mebibytes(limit));
    if (contents.entries > 0)
        print_oldest(contents.oldest_s);
    return 0;
}

static int clear(const char *folder, struct error *error)
{
    struct cubin_cache_contents removed;
    int status = cubin_cache_clear(folder, &removed, error);
    if (status == 0)
        printf("removed %zu entries, %.1f MiB, from %s/cubin\n", removed.entries,
               mebibytes(removed.bytes), folder);
    return status;
}

int command_cache(int argc, const char **argv, struct error *error)
{
    int empty = 0;
    const struct poptOption table[] = {
        option_flag("clear", 0, &empty, "remove everything from the cache"), POPT_TABLEEND};
    int status = command_parse(
        argc, argv, table,
        "cache [--clear]\n\n"
        "Shows the cache of compiled variants, or empties it.\n\n"
        "When a run makes the cache larger than 2048 MiB, or than AUTOTUNE_CACHE_MB if\n"
        "that is set, the least recently used variants are removed.\n\n"
        "Example: autotune cache --clear",
        error);
    if (status != 0)
        return status < 0 ? status : 0;
    char *folder = cubin_cache_default_folder();
    status = empty ? clear(folder, error) : show(folder, error);
    free(folder);
    return status;
}
