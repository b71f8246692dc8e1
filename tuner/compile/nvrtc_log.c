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
             begins_with(what, " bytes cumulative stack size") || begins_with(what, " stack"))
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

/* As the linker has it. */
static bool is_link_info(const char *line)
{
    return begins_with(line, "info    : ") || begins_with(line, "nvlink info");
}

struct parsing {
    struct compiled_kernel *kernels;
    size_t count;
    struct compiled_kernel *current; /* that the lines describe; NULL: none of them */
};

static void parse_ptxas_line(struct parsing *parsing, char *line)
{
    char *name = NULL;
    if ((name = after(line, "Compiling entry function '")) != NULL) {
        parsing->current = ARRAY_APPEND(parsing->kernels, parsing->count);
        parsing->current->entry = alloc_string_n(name, strcspn(name, "'"));
    } else if (parsing->count > 0 && (name = after(line, "Function properties for ")) != NULL) {
        struct compiled_kernel *last = &parsing->kernels[parsing->count - 1];
        parsing->current = strcmp(name, last->entry) == 0 ? last : NULL;
    } else if (parsing->current != NULL) {
        char *items = begins_with(line, "ptxas info ") ? after(line, ": ") : after(line, ".");
        if (items != NULL)
            read_items(items, parsing->current);
    }
}

static void parse_link_line(struct parsing *parsing, char *line)
{
    char *name = after(line, "Function properties for '");
    if (name == NULL && parsing->current != NULL)
        read_items(after(line, ": "), parsing->current);
    if (name == NULL)
        return;
    parsing->current = NULL;
    name[strcspn(name, "'")] = '\0';
    for (size_t i = 0; i < parsing->count; i++)
        if (strcmp(parsing->kernels[i].entry, name) == 0)
            parsing->current = &parsing->kernels[i];
}

/*
 * For each entry function ptxas writes
 *     ptxas info    : Compiling entry function 'NAME' for 'sm_90'
 *     ptxas info    : Function properties for NAME
 *     ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 10 registers, used 1 barriers, 4096 bytes smem, 364 bytes cmem[0]
 * and then the properties of each function that was not inlined; these are ignored. For a source of
 * several units nvJitLink writes behind that, for each entry function,
 *     info    : Function properties for 'NAME':
 *     info    : used 46 registers, used 1 barriers, 32 stack, 1152 bytes smem, 536 bytes cmem[0]
 */
void nvrtc_parse_log(const char *log, struct compiled_kernel **kernels, size_t *count)
{
    struct parsing parsing = {0};
    char *copy = alloc_string(log);
    char *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (is_link_info(line))
            parse_link_line(&parsing, line);
        else if (is_ptxas_info(line))
            parse_ptxas_line(&parsing, line);
    free(copy);
    *kernels = parsing.kernels;
    *count = parsing.count;
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
        if (!is_ptxas_info(line) && !is_link_info(line)) {
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
