/* Parses the resource usage that ptxas writes to NVRTC's log. */
#include "compile/nvrtc.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 64 * 1024 };

/* The number at the start of `text`, or -1; sets *rest to what follows it. */
static long read_count(const char *text, const char **rest)
{
    char *end = NULL;
    long count = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    *rest = end != NULL ? end : text;
    return count;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int to_int(long count)
{
    return count > INT_MAX ? INT_MAX : (int)count;
}

/* One item of a line: "4096 bytes smem", "Used 32 registers", "used 1 barriers". */
static void read_item(const char *item, struct compiled_kernel *kernel)
{
    item += strspn(item, " .");
    if (begins_with(item, "Used ") || begins_with(item, "used "))
        item += 5;
    const char *what = NULL;
    long count = read_count(item, &what);
    if (count < 0)
        return;
    if (begins_with(what, " registers"))
        kernel->registers = to_int(count);
    else if (begins_with(what, " barriers"))
        kernel->barriers = to_int(count);
    else if (begins_with(what, " bytes smem"))
        kernel->shared_bytes = count;
    else if (begins_with(what, " bytes spill stores"))
        kernel->spill_store_bytes = count;
    else if (begins_with(what, " bytes spill loads"))
        kernel->spill_load_bytes = count;
    else if (begins_with(what, " bytes stack frame") ||
             begins_with(what, " bytes cumulative stack size"))
        kernel->stack_bytes = count > kernel->stack_bytes ? count : kernel->stack_bytes;
}

static void read_items(char *line, struct compiled_kernel *kernel)
{
    char *rest = NULL;
    for (char *item = strtok_r(line, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
        read_item(item, kernel);
}

/* The text after `key` in `line`, or NULL. */
static char *after(char *line, const char *key)
{
    char *found = strstr(line, key);
    return found != NULL ? found + strlen(key) : NULL;
}

static bool is_ptxas_info(const char *line)
{
    return begins_with(line, "ptxas info ") || begins_with(line, "ptxas         .");
}

/*
 * For each entry function ptxas writes
 *     ptxas info    : Compiling entry function 'NAME' for 'sm_90'
 *     ptxas info    : Function properties for NAME
 *     ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 10 registers, used 1 barriers, 4096 bytes smem, 364 bytes cmem[0]
 * and then the properties of each function that was not inlined; these are ignored.
 */
void nvrtc_parse_log(const char *log, struct compiled_kernel **kernels, size_t *count)
{
    *kernels = NULL;
    *count = 0;
    bool own_properties = false; /* the lines describe the last kernel */
    char *copy = alloc_string(log);
    char *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *name = NULL;
        if (!is_ptxas_info(line))
            continue;
        if ((name = after(line, "Compiling entry function '")) != NULL) {
            struct compiled_kernel *kernel = ARRAY_APPEND(*kernels, *count);
            kernel->entry = alloc_string_n(name, strcspn(name, "'"));
            own_properties = true;
        } else if (*count > 0 && (name = after(line, "Function properties for ")) != NULL) {
            own_properties = strcmp(name, (*kernels)[*count - 1].entry) == 0;
        } else if (own_properties) {
            char *items = begins_with(line, "ptxas info ") ? after(line, ": ") : after(line, ".");
            if (items != NULL)
                read_items(items, &(*kernels)[*count - 1]);
        }
    }
    free(copy);
}

/* Cuts a log after LOG_BYTES, between two characters, and says so in its last line. */
static void shorten(char *log, size_t length)
{
    char note[64];
    if (length <= LOG_BYTES)
        return;
    size_t end = LOG_BYTES;
    while (end > 0 && ((unsigned char)log[end] & 0xc0) == 0x80)
        end--;
    int bytes = snprintf(note, sizeof note, "\n… (%zu more bytes)", length - end);
    if (length - end > (size_t)bytes)
        memcpy(log + end, note, (size_t)bytes + 1);
}

void nvrtc_strip_log(char *log)
{
    char *to = log;
    for (char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (!is_ptxas_info(line)) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    while (to > log && to[-1] == '\n')
        to--;
    *to = '\0';
    shorten(log, (size_t)(to - log));
    for (char *at = log; *at != '\0'; at++)
        if (((unsigned char)*at < ' ' && *at != '\n' && *at != '\t') || *at == '\x7f')
            *at = '?'; /* what a terminal would obey */
}
