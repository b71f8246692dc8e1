#include "command/command.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/write_file.h"
#include "template/element.h"
#include "template/source.h"
#include "template/source_signature.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A parameter of the template: a macro of the source, or a parameter of its C++ templates. */
struct number {
    char *spelt; /* in the source */
    char *name;
    long value;
};

/* A parameter of a kernel: a buffer, or a value of the problem. */
struct item {
    char *name;                         /* in the template */
    const struct source_kernel *kernel; /* the last that changes it, or the first that reads it */
    const struct source_parameter *source; /* of that kernel */
    const char *type; /* "float"; NULL: the source does not say it in basic types */
    bool floating;
};

struct init {
    const char *path; /* the source's */
    char *name;       /* the template's */
    char *folder;     /* to write to: "folder/", or "" */
    struct source source;
    struct source_kernel *kernels, **chosen;
    size_t kernel_count, chosen_count;
    struct number *numbers;
    size_t number_count;
    struct item *items; /* of all chosen kernels, each name once */
    size_t item_count;
    size_t gaps;
    FILE *out; /* the template's INI */
};

/* --- what the source says --- */

static bool is_taken(const struct init *init, const char *name)
{
    bool taken = template_name_is_reserved(name) || !literal_is_name(name, LITERAL_NAME_LETTERS);
    for (size_t i = 0; i < init->number_count && !taken; i++)
        taken = strcmp(init->numbers[i].name, name) == 0;
    for (size_t i = 0; i < init->item_count && !taken; i++)
        taken = strcmp(init->items[i].name, name) == 0;
    return taken;
}

/* "k_num_rows" of "numRows" with the prefix "k_", and underscores behind it if the name is taken; a new string. */
static char *lower(const struct init *init, const char *prefix, const char *text)
{
    bool letter = isalpha((unsigned char)text[0]) || prefix[0] != '\0';
    char *name = alloc_format("%s%s", prefix, letter ? "" : "k_");
    for (const char *at = text; *at != '\0' && strlen(name) < LITERAL_NAME_LETTERS - 4; at++) {
        bool word = at > text && isupper((unsigned char)*at) && islower((unsigned char)at[-1]);
        alloc_append(&name, "%s%c", word ? "_" : "",
                     isalnum((unsigned char)*at) ? tolower((unsigned char)*at) : '_');
    }
    while (is_taken(init, name) && strlen(name) < LITERAL_NAME_LETTERS)
        alloc_append(&name, "_");
    return name;
}

/* The macro of a parameter; a new string. */
static char *upper(const char *name)
{
    char *macro = alloc_string(name);
    for (char *at = macro; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return macro;
}

static const struct number *find_number(const struct init *init, const char *spelt)
{
    for (size_t i = 0; i < init->number_count; i++)
        if (strcmp(init->numbers[i].spelt, spelt) == 0)
            return &init->numbers[i];
    return NULL;
}

static struct item *find_item(const struct init *init, const char *spelt)
{
    for (size_t i = 0; i < init->item_count; i++)
        if (strcmp(init->items[i].source->name, spelt) == 0)
            return &init->items[i];
    return NULL;
}

/* Those in capitals can be parameters. */
static void add_macros(struct init *init, const char *text)
{
    struct source_macro *macros;
    size_t count = source_macros_read(text, &macros);
    for (size_t i = 0; i < count; i++) {
        char *name = lower(init, "", macros[i].name), *macro = upper(name);
        if (strcmp(macro, macros[i].name) == 0) {
            *ARRAY_APPEND(init->numbers, init->number_count) =
                (struct number){macro, name, macros[i].value};
        } else {
            free(macro);
            free(name);
        }
        free(macros[i].name);
    }
    free(macros);
}

/* Not of a byte, as truth values are. */
static bool is_integer(const struct source_parameter *parameter)
{
    return parameter->known && !parameter->pointer && !element_is_floating(parameter->type) &&
           element_bytes(parameter->type) > 1;
}

static bool is_written(const struct source_parameter *parameter)
{
    return parameter->pointer && !parameter->constant;
}

/* Whether the type of a parameter is the template's parameter of this number. */
static bool has_type(const struct source_signature *signature, size_t number)
{
    size_t i = 0;
    while (i < signature->count && signature->parameters[i].type_parameter != (int)number)
        i++;
    return i < signature->count;
}

/* What the kernel's threads per block are called: its launch bounds, or the usual name. */
static const char *block_spelt(const struct source_kernel *kernel)
{
    return kernel->bounds != NULL ? kernel->bounds : "BLOCK_SIZE";
}

/* "int BLOCK" of a C++ template is the parameter tuned_block, whose macro TUNED_BLOCK the entry names. */
static void add_template_numbers(struct init *init, const struct source_kernel *kernel)
{
    for (size_t i = 0; i < kernel->types.count; i++) {
        const struct source_parameter *parameter = &kernel->types.parameters[i];
        const char *equals = strchr(parameter->text, '=');
        char *end = NULL;
        long value = equals != NULL ? strtol(equals + 1, &end, 0) : 0;
        if (!parameter->known || element_is_floating(parameter->type) ||
            find_number(init, parameter->name) != NULL)
            continue;
        if (end == NULL || *end != '\0')
            value = strcmp(parameter->name, block_spelt(kernel)) == 0 ? 256 : is_integer(parameter);
        char *name = lower(init, "tuned_", parameter->name);
        *ARRAY_APPEND(init->numbers, init->number_count) =
            (struct number){.spelt = alloc_string(parameter->name), .name = name, .value = value};
    }
}

static void add_items(struct init *init, const struct source_kernel *kernel)
{
    for (size_t i = 0; i < kernel->signature.count; i++) {
        const struct source_parameter *parameter = &kernel->signature.parameters[i];
        struct item *item = find_item(init, parameter->name);
        if (item == NULL) {
            char *name = lower(init, "", parameter->name);
            item = ARRAY_APPEND(init->items, init->item_count);
            *item = (struct item){.name = name};
        } else if (!is_written(parameter)) {
            continue;
        }
        item->kernel = kernel;
        item->source = parameter;
        item->floating = !parameter->known || element_is_floating(parameter->type);
        item->type = parameter->known                 ? element_name(parameter->type)
                     : parameter->type_parameter >= 0 ? "float"
                                                      : NULL;
    }
}

/* The number of elements, if the kernels have one integer alone; otherwise NULL. */
static const struct item *find_size(const struct init *init)
{
    const struct item *size = NULL;
    for (size_t i = 0; i < init->item_count; i++) {
        bool integer = is_integer(init->items[i].source);
        if (integer && size != NULL)
            return NULL;
        size = integer ? &init->items[i] : size;
    }
    return size;
}

/* The threads per block, in the template's words; NULL: only the user knows them. */
static const char *block_text(const struct init *init, const struct source_kernel *kernel)
{
    const char *spelt = block_spelt(kernel);
    const struct number *number = find_number(init, spelt);
    return !kernel->flat                                       ? NULL
           : number != NULL                                    ? number->name
           : spelt[strspn(spelt, "0123456789")] == '\0'        ? spelt
           : kernel->bounds == NULL && init->number_count == 0 ? "block_size"
                                                               : NULL;
}

/* --- the template --- */

/* What only the user knows; check leads to it, since the section lacks a key without it. */
static void gap(struct init *init, const char *text)
{
    init->gaps++;
    fprintf(init->out, "; TODO: %s\n", text);
}

static void write_values(const struct init *init, FILE *sweep)
{
    static const char threads[] = "64..1024 step *2";
    fputs("\n[parameters]\n; macros in capitals that #ifndef guards\n", init->out);
    fprintf(sweep, "[sweep]\ntemplates = .\n\n[%s]\n; lists, such as 1, 2, 4\n", init->name);
    for (size_t i = 0; i < init->number_count; i++) {
        const struct number *number = &init->numbers[i];
        fprintf(init->out, "%s = %ld\n", number->name, number->value);
        if (strcmp(number->spelt, block_spelt(init->chosen[0])) == 0)
            fprintf(sweep, "%s = %s\n", number->name, threads);
        else
            fprintf(sweep, "%s = %ld\n", number->name, number->value);
    }
    if (init->number_count == 0 && init->chosen[0]->bounds == NULL) {
        fputs("\n[launch_parameters]\nblock_size = 256\n", init->out);
        fprintf(sweep, "block_size = %s\n", threads);
    }
    fputs("\n[problem]\n; what the application gives, here with values to try\n", init->out);
    for (size_t i = 0; i < init->item_count; i++) {
        const struct item *item = &init->items[i];
        if (!item->source->pointer && item->type != NULL)
            fprintf(init->out, "%s = %s\n", item->name,
                    item == find_size(init)    ? "2^22"
                    : is_integer(item->source) ? "1024"
                                               : "1");
    }
}

static void write_buffer(struct init *init, const struct item *item)
{
    fprintf(init->out, "\n[buffer.%s]\n", item->name);
    if (item->type != NULL)
        fprintf(init->out, "type = %s\n", item->type);
    else
        gap(init, "type: of its elements, which the source does not say in basic types");
    gap(init, "length: how many elements, such as n or rows * columns");
    fprintf(init->out, "access = %s\n",
            is_written(item->source) ? "read_write ; write, if it is not read" : "read");
    if (item->type != NULL && item->floating)
        fputs("fill = uniform(-1, 1)\n", init->out);
    else
        gap(init, "fill: what it holds, such as integers(0, 9), counting(0, 1) or constant(0)");
}

/* "ns::sum<float, TUNED_BLOCK>", with float for types of the kernel's parameters; a new string. */
static char *entry_text(const struct init *init, const struct source_kernel *kernel)
{
    const char *scope = kernel->is_c                                           ? ""
                        : kernel->scope[0] == '\0' && kernel->types.count == 0 ? "::"
                                                                               : kernel->scope;
    char *entry = alloc_format("%s%s", scope, kernel->name);
    for (size_t i = 0; i < kernel->types.count; i++) {
        const struct number *number = find_number(init, kernel->types.parameters[i].name);
        char *macro = number != NULL ? upper(number->name) : NULL;
        alloc_append(&entry, "%s%s", i == 0 ? "<" : ", ",
                     number != NULL                    ? macro
                     : has_type(&kernel->signature, i) ? "float"
                                                       : "TODO");
        free(macro);
    }
    alloc_append(&entry, "%s", kernel->types.count > 0 ? ">" : "");
    return entry;
}

/* The arguments of a kernel, and another one; a line each, if one could not hold them. */
static void write_arguments(struct init *init, const struct source_signature *signature,
                            const char *another)
{
    const char *separator = signature->count > 4 ? ",\n    " : ", ";
    char *arguments = alloc_string("");
    for (size_t i = 0; i < signature->count; i++) {
        const struct item *item = find_item(init, signature->parameters[i].name);
        bool typed = !item->source->pointer && item->type != NULL;
        alloc_append(&arguments, "%s%s%s%s", i > 0 ? separator : "", typed ? item->type : "",
                     typed ? " " : "", typed || item->source->pointer ? item->name : "TODO");
    }
    if (strstr(arguments, "TODO") != NULL)
        gap(init, "arguments: a struct(...), tensor_map(...) or texture(...) for each TODO");
    fprintf(init->out, "arguments = %s%s\n", arguments, another);
    free(arguments);
}

static void write_launch(struct init *init, const struct source_kernel *kernel)
{
    const struct item *size = find_size(init);
    const char *block = block_text(init, kernel);
    char *name = lower(init, "", kernel->name);
    char *entry = entry_text(init, kernel);
    fprintf(init->out, "\n[launch.%s]\n", name);
    if (strstr(entry, "TODO") != NULL)
        gap(init, "entry: a value for each TODO among the template's arguments");
    fprintf(init->out, "entry = %s\n", entry);
    if (block != NULL && size != NULL)
        fprintf(init->out, "grid = ceil_div(%s, %s)\n", size->name, block);
    else
        gap(init, "grid: how many blocks, such as ceil_div(n, block_size)");
    if (block != NULL)
        fprintf(init->out, "block = %s\n", block);
    else
        gap(init, "block: how many threads, such as block_size or 32, 8");
    write_arguments(init, &kernel->signature, "");
    free(name);
    free(entry);
}

/* The expected result of an output, and in the other file the reference that is to compute it from the same arguments. */
static void write_expectation(struct init *init, const struct item *output, FILE *reference)
{
    const struct source_kernel *kernel = output->kernel;
    bool small = output->source->known && element_bytes(output->source->type) == 2;
    char *parameters = source_signature_text(&kernel->signature);
    char *name = alloc_format("%s_%s_reference", kernel->name, output->source->name);
    if (kernel->scope[0] != '\0')
        fprintf(reference, "\nusing namespace %.*s;", (int)strlen(kernel->scope) - 2,
                kernel->scope);
    for (size_t i = 0; i < kernel->types.count; i++)
        if (has_type(&kernel->signature, i))
            fprintf(reference, "\nusing %s = float;", kernel->types.parameters[i].name);
    fprintf(reference,
            "\nextern \"C\" __global__ void %s(%s, %s *reference)\n{\n"
            "    // one block, each of whose threads takes i = threadIdx.x, i += blockDim.x\n"
            "#error \"TODO: reference[i] = what %s must hold at i, computed slowly and "
            "obviously\"\n}\n",
            name, parameters, output->floating ? "double" : element_cpp_name(output->source->type),
            output->source->name);
    init->gaps++;
    fprintf(init->out, "\n[expect.%s]\nreference = %s\nblock = 1024\n", output->name, name);
    write_arguments(init, &kernel->signature, ", reference");
    fprintf(init->out, "compare = %s\n",
            !output->floating ? "exact"
            : small           ? "close(1e-2, 1e-2)"
                              : "close(1e-5, 1e-4)");
    free(parameters);
    free(name);
}

static void write_template(struct init *init, const char *source, FILE *reference, FILE *sweep)
{
    const struct source_name *constant = source_find_name(&init->source, "__constant__");
    fprintf(init->out,
            "; Written by `autotune init` from the kernels of %s.\n[kernel]\nsource = "
            "%s_reference.cu\n%s",
            source, init->name, init->source.left_out_count > 0 ? "host_code = ignore\n" : "");
    write_values(init, sweep);
    if (constant != NULL && constant->followed) {
        fputs("\n[buffer.constant]\n", init->out);
        gap(init, "a section for each __constant__ variable, with its symbol and type");
    }
    for (size_t i = 0; i < init->item_count; i++)
        if (init->items[i].source->pointer)
            write_buffer(init, &init->items[i]);
    for (size_t i = 0; i < init->chosen_count; i++)
        write_launch(init, init->chosen[i]);
    for (size_t i = 0; i < init->item_count; i++)
        if (is_written(init->items[i].source))
            write_expectation(init, &init->items[i], reference);
}

/* --- files and kernels --- */

/* Writes three files of which none may exist, and frees paths and texts. */
static int write_files(char **paths, char **texts, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < 3 && status == 0; i++)
        if (access(paths[i], F_OK) == 0)
            status = error_set(error, ERROR_CONFIG,
                               "'%s' exists and stays as it is; move it away, or name another "
                               "folder with --output",
                               paths[i]);
    for (size_t i = 0; i < 3; i++) {
        if (status == 0)
            status = write_file_make_folders(paths[i], error);
        if (status == 0)
            status = write_file_bytes(paths[i], texts[i], strlen(texts[i]), error);
        if (status == 0)
            printf("wrote %s\n", paths[i]);
        free(paths[i]);
        free(texts[i]);
    }
    return status;
}

static int write_all(struct init *init, struct error *error)
{
    static const char *const suffixes[] = {".ini", "_reference.cu", "_sweep.ini"};
    const char *source = init->folder[0] == '\0' ? init->path : init->source.files[0].path;
    char *paths[3], *texts[3];
    FILE *streams[3];
    size_t lengths[3];
    for (size_t i = 0; i < 3; i++) {
        paths[i] = alloc_format("%s%s%s", init->folder, init->name, suffixes[i]);
        streams[i] = alloc_stream(&texts[i], &lengths[i]);
    }
    init->out = streams[0];
    fprintf(streams[1], "// What it must compute.\n#include <cstdint>\n#include \"%s\"\n", source);
    write_template(init, source, streams[1], streams[2]);
    for (size_t i = 0; i < 3; i++)
        (void)fclose(streams[i]);
    int status = write_files(paths, texts, error);
    if (status == 0)
        printf("%zu places to complete are marked TODO in them; this shows the next one:\n"
               "autotune check %s%s_sweep.ini --compile\n",
               init->gaps, init->folder, init->name);
    return status;
}

static int choose(struct init *init, char *const *entries, struct error *error)
{
    char *names = alloc_string("");
    int status = 0;
    for (size_t i = 0; i < init->kernel_count; i++) {
        alloc_append(&names, "%s%s", i > 0 ? ", " : "", init->kernels[i].name);
        if (*entries == NULL && init->kernel_count == 1)
            *ARRAY_APPEND(init->chosen, init->chosen_count) = &init->kernels[i];
    }
    for (; *entries != NULL && status == 0; entries++) {
        size_t i = 0;
        while (i < init->kernel_count && strcmp(init->kernels[i].name, *entries) != 0)
            i++;
        if (i == init->kernel_count)
            status = error_set(error, ERROR_USAGE, "'%s' has no kernel '%s'; it has: %s",
                               init->path, *entries, names);
        else
            *ARRAY_APPEND(init->chosen, init->chosen_count) = &init->kernels[i];
    }
    if (init->kernel_count == 0)
        status = error_set(error, ERROR_CONFIG, "'%s' has no __global__ function", init->path);
    else if (status == 0 && init->chosen_count == 0)
        status = error_set(error, ERROR_USAGE,
                           "'%s' has several kernels; name those that run one after another: %s",
                           init->path, names);
    free(names);
    return status;
}

static void read_source(struct init *init)
{
    const char *slash = strrchr(init->path, '/');
    char *stem = alloc_string(slash != NULL ? slash + 1 : init->path);
    stem[strcspn(stem, ".")] = '\0';
    init->name = lower(init, "", stem);
    free(stem);
    for (size_t i = 0; i < init->source.followed_count; i++) {
        struct source_kernel *kernels;
        size_t count = source_kernels_read(init->source.files[i].text, &kernels);
        for (size_t j = 0; j < count; j++)
            *ARRAY_APPEND(init->kernels, init->kernel_count) = kernels[j];
        free(kernels);
        add_macros(init, init->source.files[i].text);
    }
}

static int init_source(struct init *init, char *const *entries, struct error *error)
{
    static const char *const roots[] = {"float"};
    const struct source_files files = {
        .paths = &init->path, .path_count = 1, .roots = roots, .root_count = 1};
    int status = source_load_files(&init->source, &files, error);
    if (status == 0) {
        read_source(init);
        status = choose(init, entries, error);
    }
    for (size_t i = 0; i < init->chosen_count && status == 0; i++) {
        add_template_numbers(init, init->chosen[i]);
        add_items(init, init->chosen[i]);
    }
    if (status == 0)
        status = write_all(init, error);
    for (size_t i = 0; i < init->number_count; i++) {
        free(init->numbers[i].spelt);
        free(init->numbers[i].name);
    }
    for (size_t i = 0; i < init->item_count; i++)
        free(init->items[i].name);
    source_kernels_free(init->kernels, init->kernel_count);
    source_release(&init->source);
    free(init->numbers);
    free(init->items);
    free(init->chosen);
    free(init->name);
    return status;
}

/* --- a project --- */

extern const char project_source[], project_template[], project_sweep[]; /* of tests/examples */

static int init_project(const char *folder, struct error *error)
{
    char *paths[] = {alloc_format("%skernels/saxpy.cu", folder),
                     alloc_format("%skernels/saxpy.ini", folder),
                     alloc_format("%ssweep.ini", folder)};
    char *texts[] = {alloc_string(project_source), alloc_string(project_template),
                     alloc_string(project_sweep)};
    int status = write_files(paths, texts, error);
    if (status == 0)
        printf("results go into results/ of the folder from which autotune runs; next:\n"
               "autotune %ssweep.ini\n",
               folder);
    return status;
}

static int init(void *user, struct command_input *input, struct error *error)
{
    const struct command_options *options = user;
    const char *output = options->output;
    char *folder = output != NULL ? alloc_format("%s/", output) : alloc_string("");
    struct init init = {.path = input->arguments[0], .folder = folder};
    int status = init.path == NULL ? init_project(folder, error)
                                   : init_source(&init, input->arguments + 1, error);
    free(folder);
    return status;
}

int command_init(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {option_text("output", 'o', &options.output,
                                                   "the folder to write (default: the current one)",
                                                   "DIR"),
                                       POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_ARGUMENTS,
        "init [FILE.cu [ENTRY...]]\n\n"
        "Writes a template and a sweep for kernels of a source, which stays as it is,\n"
        "and a file for the reference. What the source does not say is left as a gap,\n"
        "marked TODO. Several entries are launches that run one after another.\n"
        "Without a file, writes a project with an example: kernels/ and sweep.ini.\n\n"
        "Example: autotune init saxpy.cu saxpy",
        init, &options};
    return command_perform(argc, argv, &line, error);
}
