#include "compile/precompiler.h"

#include "base/alloc.h"
#include "base/write_file.h"
#include "template/compiler_option.h"
#include "template/source_lexer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Address space for the compiler's heap of precompiled headers: all of cooperative_groups.h takes
 * 100 MB of it, cub/block/block_reduce.cuh 180 MB. */
#define HEAP_BYTES ((size_t)512 << 20)

/* Loading a precompiled header takes longer than parsing it if it is smaller; without any header, it
 * has 7 MB. */
#define LEAST_BYTES ((off_t)24 << 20)

/* Of an #include line: #, include, the header and the line's end. */
enum { INCLUDE_TOKENS = 4 };

void precompiler_init(struct precompiler *precompiler, struct nvrtc *nvrtc)
{
    *precompiler =
        (struct precompiler){.nvrtc = nvrtc, .descriptor = -1, .least_bytes = LEAST_BYTES};
}

static void discard(struct precompiler *precompiler)
{
    if (precompiler->descriptor >= 0)
        (void)close(precompiler->descriptor);
    free(precompiler->key);
    precompiler->key = NULL;
    precompiler->descriptor = -1;
}

void precompiler_release(struct precompiler *precompiler)
{
    discard(precompiler);
}

/* --- the source --- */

static void append(char **text, char *more)
{
    char *longer = alloc_format("%s%s", *text, more);
    free(*text);
    free(more);
    *text = longer;
}

/* The part before the definitions, which is precompiled. */
static char *include_lines(const struct precompilation *job)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < job->header_count; i++)
        append(&text, alloc_format("#include <%s>\n", job->headers[i]));
    append(&text, alloc_string("#pragma nv_hdrstop\n"));
    return text;
}

/* Turns -DNAME=VALUE into a #define line. */
static char *definition_line(const char *option)
{
    const char *name = option + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : "1";
    return alloc_format("#define %.*s %s\n", (int)length, name, value);
}

static char *whole_text(const struct precompilation *job)
{
    char *text = include_lines(job);
    for (size_t i = job->option_count - job->definition_count; i < job->option_count; i++)
        append(&text, definition_line(job->options[i]));
    append(&text, alloc_format("#line 1 \"%s\"\n%s", job->name, job->text));
    return text;
}

/* True if the source begins with the #includes of these headers: what comes before could change
 * them. */
static bool begins_with_headers(const struct precompilation *job)
{
    char *lines = include_lines(job);
    struct source_lexer expected;
    struct source_lexer found;
    bool same = true;
    source_lexer_init(&expected, lines);
    source_lexer_init(&found, job->text);
    for (size_t i = 0; same && i < job->header_count * INCLUDE_TOKENS; i++)
        same = source_lexer_next(&expected) == source_lexer_next(&found) &&
               strcmp(expected.token, found.token) == 0;
    source_lexer_release(&expected);
    source_lexer_release(&found);
    free(lines);
    return same;
}

/* True if whole_text() works for the job: the source begins with the headers, its last options are
 * definitions, its name needs no escapes in a #line, and it is one unit, since the others would lack
 * the definitions. */
static bool can_precompile(const struct precompilation *job)
{
    if (job->header_count == 0 || job->definition_count > job->option_count ||
        strpbrk(job->name, "\"\\\n") != NULL || !begins_with_headers(job))
        return false;
    for (size_t i = job->option_count - job->definition_count; i < job->option_count; i++)
        if (strncmp(job->options[i], "-D", 2) != 0)
            return false;
    for (size_t i = 0; i < job->option_count - job->definition_count; i++)
        if (compiler_option_value(job->options[i], COMPILER_OPTION_UNIT) != NULL)
            return false;
    return true;
}

/* Appends the name of each macro of the definitions, with a line feed. */
static void append_names(char **text, const struct precompilation *job)
{
    for (size_t i = job->option_count - job->definition_count; i < job->option_count; i++) {
        const char *name = job->options[i] + strlen("-D");
        append(text, alloc_format("%.*s\n", (int)strcspn(name, "="), name));
    }
}

/* A precompiled header is valid for these: headers, defined names, architecture and options. */
static char *key_of(const struct precompilation *job)
{
    char *key = include_lines(job);
    append_names(&key, job);
    append(&key, alloc_string(job->arch));
    for (size_t i = 0; i < job->option_count - job->definition_count; i++)
        append(&key, alloc_format("\n%s", job->options[i]));
    return key;
}

/* --- compiling --- */

static int compile_without(const struct precompiler *precompiler, const struct precompilation *job,
                           struct compilation *compilation, struct error *error)
{
    return nvrtc_compile(precompiler->nvrtc, job->name, job->text, job->arch, job->options,
                         job->option_count, compilation, error);
}

/* Compiles with `option`, --use-pch=… or --create-pch=…. Returns true if that gave a cubin. */
static bool compile_with(const struct precompiler *precompiler, const struct precompilation *job,
                         const char *option, struct compilation *compilation)
{
    /* 639: the heap is too small; NVRTC then makes a cubin but no header */
    static const char *const quiet[] = {"--pch-messages=false", "--pch-verbose=false",
                                        "--diag-suppress=639"};
    const size_t quiet_count = sizeof quiet / sizeof *quiet;
    size_t count = job->option_count - job->definition_count;
    const char **options = alloc_zeroed(count + quiet_count + 1, sizeof *options);
    if (count > 0)
        memcpy(options, job->options, count * sizeof *options);
    memcpy(options + count, quiet, sizeof quiet);
    options[count + quiet_count] = option;
    char *text = whole_text(job);
    int status = nvrtc_compile(precompiler->nvrtc, job->name, text, job->arch, options,
                               count + quiet_count + 1, compilation, NULL);
    free(text);
    free(options);
    if (status == 0 && compilation->cubin != NULL)
        return true;
    compilation_release(compilation);
    return false;
}

/* Opens the header that was made, unless loading it would take longer than parsing. */
static int open_made(const struct precompiler *precompiler, const char *file)
{
    struct stat information;
    int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 &&
        (fstat(descriptor, &information) != 0 || information.st_size < precompiler->least_bytes)) {
        (void)close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

/* Compiles and keeps the precompiled header. */
static bool create(struct precompiler *precompiler, const struct precompilation *job,
                   struct compilation *compilation)
{
    char *option = alloc_format("--create-pch=%s", job->file);
    (void)write_file_make_folders(job->file, NULL);
    bool compiled = compile_with(precompiler, job, option, compilation);
    free(option);
    precompiler->descriptor = open_made(precompiler, job->file);
    (void)unlink(job->file);
    return compiled;
}

static bool use(const struct precompiler *precompiler, const struct precompilation *job,
                struct compilation *compilation)
{
    char *option = alloc_format("--use-pch=/proc/self/fd/%d", precompiler->descriptor);
    bool compiled = compile_with(precompiler, job, option, compilation);
    free(option);
    return compiled;
}

/* True if the job can use a precompiled header: one that exists (`*known`), or one to create. */
static bool prepare(struct precompiler *precompiler, const struct precompilation *job, bool *known)
{
    if (!can_precompile(job))
        return false;
    char *key = key_of(job);
    *known = precompiler->key != NULL && strcmp(precompiler->key, key) == 0;
    if (*known || !job->more) {
        free(key);
        return *known && precompiler->descriptor >= 0;
    }
    discard(precompiler);
    precompiler->key = key;
    char *names = alloc_string("");
    append_names(&names, job);
    bool independent = !nvrtc_headers_name(precompiler->nvrtc, names);
    free(names);
    if (!independent)
        return false;
    precompiler->reserved =
        precompiler->reserved || nvrtc_reserve_precompiled(precompiler->nvrtc, HEAP_BYTES);
    return precompiler->reserved;
}

int precompiler_compile(struct precompiler *precompiler, const struct precompilation *job,
                        struct compilation *compilation, struct error *error)
{
    bool known = false;
    bool compiled = false;
    if (prepare(precompiler, job, &known))
        compiled =
            known ? use(precompiler, job, compilation) : create(precompiler, job, compilation);
    return compiled ? 0 : compile_without(precompiler, job, compilation, error);
}
