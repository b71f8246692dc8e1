#include "command/command.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/write_file.h"
#include "compile/sass.h"
#include "compile/single_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct emission {
    int source, ptx, cubin, sass; /* flags; none: source */
    char *arch;
    char *output;
    struct command_variant variant;
    struct single_compile builder;
};

/* Writes the listing, followed by its numbers of instructions, as comments. */
static int write_sass(const struct compilation *compilation, FILE *stream, struct error *error)
{
    struct sass sass;
    char *listing;
    char *table = NULL;
    size_t text_table_bytes;
    int status = sass_disassemble(compilation->cubin, compilation->cubin_bytes, &listing, error);
    if (status != 0)
        return status;
    sass_count(listing, &sass);
    FILE *memory = open_memstream(&table, &text_table_bytes);
    if (memory == NULL)
        abort(); /* out of memory, as in alloc.h */
    sass_print(memory, &sass);
    if (fclose(memory) != 0)
        abort();
    fprintf(stream, "%s\n", listing);
    for (char *rest = table, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            fprintf(stream, "//%s\n", line);
    free(table);
    sass_release(&sass);
    free(listing);
    return 0;
}

static int write_emitted(struct emission *emission, FILE *stream, const struct build *build,
                         struct error *error)
{
    struct compilation compilation = {0};
    bool compiled = false;
    char *text = NULL;
    int status = 0;
    if (emission->cubin || emission->sass || emission->ptx)
        status = single_compile_cubin(&emission->builder, build, &compilation, &compiled, error);
    else
        text = build_source(build);
    if (status != 0 && compilation.log != NULL && compilation.log[0] != '\0')
        fprintf(stderr, "%s\n", compilation.log); /* the error has only its first line */
    if (text != NULL)
        fputs(text, stream);
    else if (compilation.cubin != NULL && emission->sass)
        status = write_sass(&compilation, stream, error);
    else if (compilation.cubin != NULL)
        (void)fwrite(compilation.cubin, 1, compilation.cubin_bytes, stream);
    compilation_release(&compilation);
    free(text);
    return status;
}

static int emit(void *user, struct command_input *input, struct error *error)
{
    struct emission *emission = user;
    struct command_variant *variant = &emission->variant;
    struct write_file file;
    const char *output = emission->output;
    if (emission->source + emission->ptx + emission->cubin + emission->sass > 1)
        return error_set(error, ERROR_USAGE, "choose one of --source, --ptx, --cubin and --sass");
    if (emission->sass && sass_available(error) != 0)
        return error->code;
    struct build build = {&variant->template,
                          &variant->parameters,
                          &variant->problem,
                          emission->arch != NULL ? emission->arch : "sm_90",
                          false,
                          emission->ptx};
    int status = command_variant_load(variant, input, error);
    if (status == 0 && output == NULL && emission->cubin && isatty(STDOUT_FILENO))
        status =
            error_set(error, ERROR_USAGE, "a cubin is binary; write it to a file with --output");
    if (status == 0 && output != NULL) {
        interrupt_install(); /* so that the unfinished file is removed in any case */
        status = write_file_begin(&file, output, error);
        if (status == 0)
            status = write_file_finish(&file, write_emitted(emission, file.stream, &build, error),
                                       error);
    } else if (status == 0) {
        status = write_emitted(emission, stdout, &build, error);
    }
    single_compile_release(&emission->builder);
    command_variant_release(variant);
    return status;
}

int command_emit(int argc, const char **argv, struct error *error)
{
    struct emission emission = {0};
    struct poptOption table[SOURCE_OPTIONS + 7] = {
        [SOURCE_OPTIONS] = option_flag("source", 0, &emission.source,
                                       "its source, preceded by its definitions (the default)"),
        option_flag("ptx", 0, &emission.ptx, "its PTX"),
        option_flag("cubin", 0, &emission.cubin, "its cubin"),
        option_flag("sass", 0, &emission.sass,
                    "its machine code, followed by the number of instructions of each kind; needs "
                    "nvdisasm or cuobjdump"),
        option_text("arch", 'a', &emission.arch, "the architecture (default: sm_90)", "sm_XX"),
        option_text("output", 'o', &emission.output, "write to this file (default: stdout)",
                    "FILE"),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_VALUES,
        "emit {SWEEP | --template FILE | --kernel NAME} [OPTION...]\n\n"
        "Writes the source, PTX, cubin or machine code of one variant. Needs no GPU.\n\n"
        "Example: autotune emit --kernel reduce_sum --set block_size=256 --ptx",
        emit, &emission};
    option_sources(&emission.variant.source, table);
    return command_perform(argc, argv, &line, error);
}
