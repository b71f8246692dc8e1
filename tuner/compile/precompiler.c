#include "compile/precompiler.h"

#include "base/alloc.h"
#include "template/compiler_option.h"
#include "template/source_lexer.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Address space: cub/block/block_reduce.cuh takes 180 MB of it. */
#define HEAP_BYTES ((size_t)512 << 20)

void precompiler_init(struct precompiler *precompiler, struct nvrtc *nvrtc, const char *folder)
{
    *precompiler = (struct precompiler){.nvrtc = nvrtc, .folder = folder, .descriptor = -1};
}

void precompiler_release(struct precompiler *precompiler)
{
    if (precompiler->descriptor >= 0)
        (void)close(precompiler->descriptor);
    free(precompiler->key);
    precompiler->key = NULL;
    precompiler->descriptor = -1;
}

/* The part before the definitions, which is precompiled. */
static char *include_lines(const struct nvrtc_job *job)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < job->header_count; i++)
        alloc_append(&text, "#include <%s>\n", job->headers[i]);
    alloc_append(&text, "#pragma nv_hdrstop\n");
    return text;
}

static char *whole_text(const struct nvrtc_job *job)
{
    char *text = include_lines(job);
    for (size_t i = job->option_count - job->definition_count; i < job->option_count; i++) {
        const char *name = job->options[i] + strlen("-D");
        size_t length = strcspn(name, "=");
        alloc_append(&text, "#define %.*s %s\n", (int)length, name,
                     name[length] == '=' ? name + length + 1 : "1");
    }
    alloc_append(&text, "#line 1 \"%s\"\n%s", job->name, job->text);
    return text;
}

enum { INCLUDE_TOKENS = 4 }; /* #, include, the header and the line's end */

/* Whether the source begins with the #includes of these headers: what comes before could change them. */
static bool begins_with_headers(const struct nvrtc_job *job)
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

/* Whether whole_text() works: the name needs no escapes in a #line, and other units would lack the definitions. */
static bool can_precompile(const struct nvrtc_job *job)
{
    bool can =
        job->header_count > 0 && strpbrk(job->name, "\"\\\n") == NULL && begins_with_headers(job);
    for (size_t i = 0; i < job->option_count && can; i++)
        can = compiler_option_value(job->options[i], COMPILER_OPTION_UNIT) == NULL;
    return can;
}

/* A precompiled header is valid for these: headers, defined names, architecture and options. Sets `*names`
 * to the names, each with a line feed. */
static char *key_of(const struct nvrtc_job *job, char **names)
{
    size_t first = job->option_count - job->definition_count;
    char *key = include_lines(job);
    *names = alloc_string("");
    for (size_t i = first; i < job->option_count; i++) {
        const char *name = job->options[i] + strlen("-D");
        alloc_append(names, "%.*s\n", (int)strcspn(name, "="), name);
    }
    alloc_append(&key, "%s%s", *names, job->arch);
    for (size_t i = 0; i < first; i++)
        alloc_append(&key, "\n%s", job->options[i]);
    return key;
}

/* Compiles with "--use-pch=FILE" or "--create-pch=FILE". Returns whether that gave a cubin. */
static bool compile_with(const struct precompiler *precompiler, const struct nvrtc_job *job,
                         const char *option, struct compilation *compilation)
{
    /* 639: the heap is too small; NVRTC then makes a cubin but no header */
    const char *const more[] = {"--pch-messages=false", "--pch-verbose=false",
                                "--diag-suppress=639", option};
    const char **options = NULL;
    size_t count = 0;
    while (count < job->option_count - job->definition_count) {
        const char *next = job->options[count];
        *ARRAY_APPEND(options, count) = next;
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        *ARRAY_APPEND(options, count) = more[i];
    char *text = whole_text(job);
    const struct nvrtc_job whole = {.name = job->name,
                                    .text = text,
                                    .arch = job->arch,
                                    .options = options,
                                    .option_count = count};
    int status = nvrtc_compile(precompiler->nvrtc, &whole, compilation, NULL);
    free(text);
    free(options);
    if (status == 0 && compilation->cubin != NULL)
        return true;
    compilation_release(compilation);
    return false;
}

int precompiler_compile(struct precompiler *precompiler, const struct nvrtc_job *job,
                        struct compilation *compilation, struct error *error)
{
    char *names = NULL;
    char *key = can_precompile(job) ? key_of(job, &names) : NULL;
    bool known = key != NULL && precompiler->key != NULL && strcmp(precompiler->key, key) == 0;
    bool compiled = false;
    if (known && precompiler->descriptor >= 0) {
        char *option = alloc_format("--use-pch=/proc/self/fd/%d", precompiler->descriptor);
        compiled = compile_with(precompiler, job, option, compilation);
        precompiler->uses += compiled;
        free(option);
    } else if (key != NULL && !known) {
        precompiler_release(precompiler);
        precompiler->key = alloc_string(key);
        if (!nvrtc_headers_name(precompiler->nvrtc, names) &&
            nvrtc_reserve_precompiled(precompiler->nvrtc, HEAP_BYTES)) {
            char *option = alloc_format("--create-pch=%s/pch", precompiler->folder);
            const char *file = strchr(option, '=') + 1;
            (void)mkdir(precompiler->folder, 0700);
            compiled = compile_with(precompiler, job, option, compilation);
            precompiler->descriptor = open(file, O_RDONLY | O_CLOEXEC);
            (void)unlink(file);
            free(option);
        }
    }
    free(names);
    free(key);
    return compiled ? 0 : nvrtc_compile(precompiler->nvrtc, job, compilation, error);
}
