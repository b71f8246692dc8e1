#include "compile/sass.h"

#include "base/alloc.h"
#include "base/subprocess.h"
#include "base/text_table.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the listing --- */

/* The path of program `name` on the PATH or in a toolkit, or NULL; free it. */
static char *find(const char *name)
{
    const char *roots[] = {getenv("CUDA_HOME"), "/usr/local/cuda", AUTOTUNE_CUDA_ROOT};
    char *path = subprocess_find(name);
    for (size_t i = 0; i < sizeof roots / sizeof *roots && path == NULL; i++) {
        if (roots[i] == NULL)
            continue;
        path = alloc_format("%s/bin/%s", roots[i], name);
        if (access(path, X_OK) != 0) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

static const struct {
    const char *name;
    const char *option;
} programs[] = {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}};

/* The path of the first installed program, to be freed, and its option; NULL with an error if there
 * is none. */
static char *find_program(const char **option, struct error *error)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char *path = find(programs[i].name);
        *option = programs[i].option;
        if (path != NULL)
            return path;
    }
    (void)error_set(error, ERROR_DEVICE,
                    "nvdisasm and cuobjdump not found; install the CUDA Toolkit's binary "
                    "utilities, or `pip install nvidia-cuda-nvdisasm`, and add them to the PATH");
    return NULL;
}

int sass_available(struct error *error)
{
    const char *option;
    char *path = find_program(&option, error);
    free(path);
    return path != NULL ? 0 : ERROR_DEVICE;
}

int sass_disassemble(const void *cubin, size_t cubin_bytes, char **listing, struct error *error)
{
    const char *option;
    char *path = find_program(&option, error);
    *listing = NULL;
    if (path == NULL)
        return ERROR_DEVICE;
    char *copy = alloc_string(option);
    char *arguments[] = {path, copy, (char[]){"/dev/stdin"}, NULL};
    int result = subprocess_run(arguments, cubin, cubin_bytes, listing, error);
    free(copy);
    free(path);
    return result;
}

/* --- counting --- */

static const struct {
    const char *text, *mnemonics;
} kinds[] = {
#define X(constant, text, mnemonics) {text, mnemonics},
    SASS_KINDS(X)
#undef X
};

/* Whether the list, separated by blanks, has the first `length` characters of `word`. */
static bool lists(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

/* True if `part` is one of the dot-separated modifiers, as in "LDG.E.128.CONSTANT". */
static bool has_part(const char *instruction, const char *part)
{
    size_t length = strlen(part);
    for (const char *point = strchr(instruction, '.'); point != NULL;
         point = strchr(point + 1, '.'))
        if (strncmp(point + 1, part, length) == 0 &&
            (point[1 + length] == '.' || point[1 + length] == '\0'))
            return true;
    return false;
}

/* 0 for 8 or 16 bits, 1 for 32, 2 for 64, 3 for 128, 4 for 256: the order of the kinds. */
static int width_of(const char *instruction)
{
    static const char *const narrow[] = {"U8", "S8", "U16", "S16"};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (has_part(instruction, narrow[i]))
            return 0;
    if (has_part(instruction, "256") || has_part(instruction, "ENL2"))
        return 4;
    return has_part(instruction, "128") ? 3 : has_part(instruction, "64") ? 2 : 1;
}

static enum sass_kind kind_of(const char *instruction)
{
    enum sass_kind kind = 0;
    while (kind < SASS_OTHER &&
           !lists(kinds[kind].mnemonics, instruction, strcspn(instruction, ".")))
        kind++;
    if (kind == SASS_LOAD_NARROW || kind == SASS_STORE_NARROW)
        return kind + (enum sass_kind)width_of(instruction);
    /* HFMA2.MMA moves a constant through the half-precision unit */
    return kind == SASS_HALF && has_part(instruction, "MMA") ? SASS_OTHER : kind;
}

static void count(struct sass_kernel *kernel, const char *text)
{
    char instruction[64];
    size_t length = strcspn(text, " \t;\r\n");
    if (length == 0 || length >= sizeof instruction)
        return;
    memcpy(instruction, text, length);
    instruction[length] = '\0';
    if (strcmp(instruction, "NOP") == 0)
        return;
    kernel->counts[kind_of(instruction)]++;
    kernel->instructions++;
}

/* The instruction in a line that begins with an address in a comment, after the predicate (@!P0) if
 * it has one; NULL for other lines. */
static const char *instruction_of(const char *line)
{
    line += strspn(line, " \t");
    if (strncmp(line, "/*", 2) != 0)
        return NULL;
    size_t digits = strspn(line + 2, "0123456789abcdef");
    if (digits < 4 || strncmp(line + 2 + digits, "*/", 2) != 0)
        return NULL;
    line += digits + 4;
    line += strspn(line, " \t{");
    if (*line == '@') {
        line += strcspn(line, " \t\n");
        line += strspn(line, " \t");
    }
    return isupper((unsigned char)*line) ? line : NULL;
}

/* The name in ".text.NAME:" or "Function : NAME", with its `*length`; NULL for other lines. */
static const char *entry_of(const char *line, size_t *length)
{
    line += strspn(line, " \t");
    *length = strcspn(line, "\r\n");
    if (strncmp(line, ".text.", 6) == 0 && line[*length - 1] == ':') {
        *length -= 7;
        return line + 6;
    }
    if (strncmp(line, "Function : ", 11) == 0) {
        *length -= 11;
        return line + 11;
    }
    return NULL;
}

void sass_count(const char *listing, struct sass *sass)
{
    *sass = (struct sass){0};
    for (const char *line = listing; *line != '\0';) {
        size_t length;
        const char *entry = entry_of(line, &length);
        const char *instruction = instruction_of(line);
        if (entry != NULL)
            ARRAY_APPEND(sass->kernels, sass->count)->entry = alloc_string_n(entry, length);
        else if (instruction != NULL && sass->count > 0)
            count(&sass->kernels[sass->count - 1], instruction);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

void sass_release(struct sass *sass)
{
    for (size_t i = 0; i < sass->count; i++)
        free(sass->kernels[i].entry);
    free(sass->kernels);
    *sass = (struct sass){0};
}

/* --- printing --- */

static void add_row(struct text_table *table, const struct sass *sass, const char *text,
                    enum sass_kind kind)
{
    text_table_cell(table, text);
    for (size_t i = 0; i < sass->count; i++) {
        char number[32];
        const struct sass_kernel *kernel = &sass->kernels[i];
        (void)snprintf(number, sizeof number, "%zu",
                       kind == SASS_KIND_COUNT ? kernel->instructions : kernel->counts[kind]);
        text_table_cell(table, number);
    }
}

void sass_print(FILE *stream, const struct sass *sass)
{
    struct text_table *table = text_table_new();
    text_table_column(table, "instructions", TABLE_LEFT);
    for (size_t i = 0; i < sass->count; i++)
        text_table_column(table, sass->kernels[i].entry, TABLE_RIGHT);
    for (int kind = 0; kind < SASS_KIND_COUNT; kind++) {
        size_t sum = 0;
        for (size_t i = 0; i < sass->count; i++)
            sum += sass->kernels[i].counts[kind];
        if (sum > 0)
            add_row(table, sass, kinds[kind].text, (enum sass_kind)kind);
    }
    add_row(table, sass, "all", SASS_KIND_COUNT);
    text_table_print(table, 120, stream);
    text_table_free(table);
}
