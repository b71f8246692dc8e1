#include "exchange/t1_text.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/read_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next place of a whole word; NULL if there is none. */
static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    const char *at = text;
    while ((at = strstr(at, word)) != NULL) {
        if ((at == text || !is_part(at[-1])) && !is_part(at[length]))
            return at;
        at += length;
    }
    return NULL;
}

/* The length of the comment or string that begins at `at`; 0 if none does. */
static size_t quiet_length(const char *at, bool *comment)
{
    bool block = strncmp(at, "/*", 2) == 0;
    *comment = block || strncmp(at, "//", 2) == 0;
    const char *end = block        ? strstr(at + 2, "*/")
                      : *comment   ? strchr(at, '\n')
                      : *at == '"' ? strpbrk(at + 1, "\"\n")
                                   : NULL;
    if (end == NULL)
        return *comment ? strlen(at) : 0;
    return (size_t)(end - at) + (block ? 2 : *comment ? 0 : 1);
}

/* A copy with blanks in place of comments, so that every place is where it was. A new string. */
static char *without_comments(const char *text)
{
    char *copy = alloc_string(text);
    for (char *at = copy; *at != '\0';) {
        bool comment;
        size_t length = quiet_length(at, &comment);
        if (comment)
            memset(at, ' ', length);
        at += length > 0 ? length : 1;
    }
    return copy;
}

/* Where the declaration that has `at` in it begins. */
static const char *declaration_of(const char *text, const char *at)
{
    const char *start = at;
    while (start > text && strchr(";}", start[-1]) == NULL)
        start--;
    return start;
}

/* The __global__ of the first declaration of kernel `name`; NULL if there is none. `*is_template`
 * says whether it is one of C++. */
static const char *find_entry(const char *text, const char *name, bool *is_template)
{
    for (const char *at = text; (at = find_word(at, name)) != NULL; at += strlen(name)) {
        const char *start = declaration_of(text, at);
        const char *global = find_word(start, "__global__");
        const char *template = find_word(start, "template");
        if (global == NULL || global > at ||
            at[strlen(name) + strspn(at + strlen(name), " \t\r\n")] != '(')
            continue;
        *is_template = template != NULL && template <at;
        return global;
    }
    return NULL;
}

/* Makes the entry extern "C", by which name it is launched. Kernel Tuner does that to the whole
 * source. */
static void use_text(struct t1_source *source, const char *text, const char *entry)
{
    bool is_template = false;
    char *code = without_comments(text);
    const char *global = find_entry(code, entry, &is_template);
    size_t before = global != NULL ? (size_t)(global - code) : 0;
    source->has_quotes = strstr(code, "#include \"") != NULL;
    if (global == NULL)
        source->gap = alloc_format("the source has no __global__ function '%s'", entry);
    else if (is_template)
        source->gap = alloc_format("'%s' is a template of C++: write an extern \"C\" __global__ "
                                   "function that calls it, and name that here",
                                   entry);
    source->text = source->gap != NULL || strstr(code, "extern \"C\"") != NULL
                       ? alloc_string(text)
                       : alloc_format("%.*sextern \"C\" %s", (int)before, text, text + before);
    free(code);
}

void t1_source_read(const struct t1 *t1, struct t1_source *source)
{
    const char *language = t1_text_of(t1->kernel, "Language");
    const char *file = t1_text_of(t1->kernel, "KernelFile");
    const char *entry = t1_text_of(t1->kernel, "KernelName");
    char *text = NULL;
    *source = (struct t1_source){0};
    if (language != NULL && strcmp(language, "CUDA") != 0) {
        source->gap = alloc_format("the kernel is written in %s: port it to CUDA", language);
        return;
    }
    if (file == NULL || entry == NULL) {
        source->gap = alloc_string("the file names no kernel");
        return;
    }
    char *path = path_beside(t1->path, file);
    if (read_file(path, &text, NULL, NULL) != 0)
        source->gap = alloc_format("the kernel '%s' was not there: put it into the source", file);
    else
        use_text(source, text, entry);
    free(path);
    free(text);
}

void t1_source_release(struct t1_source *source)
{
    free(source->text);
    free(source->gap);
    *source = (struct t1_source){0};
}

static char *macro_of(const char *name)
{
    char *macro = alloc_string(name);
    for (char *c = macro; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return macro;
}

/* Each string is a word of ours, which stands for the string's text. */
static void print_words(FILE *stream, const struct t1_parameter *parameter, const char *macro,
                        const struct t1 *t1)
{
    for (size_t i = 0; i < parameter->values.count; i++) {
        char *word = t1_value_text(t1, &parameter->values.items[i]);
        char *capitals = macro_of(word);
        fprintf(stream, "#define %s_%s %s\n", macro, capitals, parameter->values.items[i].string);
        free(capitals);
        free(word);
    }
}

static bool is_identifier(const char *text)
{
    size_t length = 0;
    while (is_part(text[length]))
        length++;
    return length > 0 && text[length] == '\0' && !isdigit((unsigned char)*text);
}

static void print_parameter(FILE *stream, const struct t1 *t1, const struct t1_parameter *parameter)
{
    char *macro = macro_of(parameter->ours);
    char *value = t1_value_text(t1, &parameter->values.items[parameter->fallback]);
    char *capitals = macro_of(value);
    if (parameter->is_word)
        print_words(stream, parameter, macro, t1);
    fprintf(stream, "#ifndef %s\n#define %s %s%s%s\n#endif\n", macro, macro,
            parameter->is_word ? macro : "", parameter->is_word ? "_" : "",
            parameter->is_word ? capitals : value);
    if (strcmp(macro, parameter->theirs) != 0 && is_identifier(parameter->theirs))
        fprintf(stream, "#define %s %s\n", parameter->theirs, macro);
    free(capitals);
    free(value);
    free(macro);
}

void t1_source_print(FILE *stream, const struct t1 *t1, const struct t1_source *source)
{
    fprintf(stream, "// Parameters of the kernel below, with their defaults\n");
    for (size_t i = 0; i < t1->parameter_count; i++)
        print_parameter(stream, t1, &t1->parameters[i]);
    if (source->text != NULL)
        fprintf(stream, "\n%s", source->text);
    else
        fprintf(stream, "\n#error \"TODO: %s\"\n", source->gap);
}
