#include "template.h"

#include "alloc.h"
#include "gpu.h"
#include "value_list.h"

#include <ctype.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* Compiled figures: what a launch's expressions and what constraints may name beyond parameters,
 * problem and device. */
static const char *const launch_figure_names[] = {
    "registers", "spill_bytes", "static_shared_bytes", "blocks_per_sm", "block_threads", NULL};
static const char *const figure_names[] = {"registers",     "spill_bytes", "shared_bytes",
                                           "blocks_per_sm", "occupancy",   NULL};

/* Keys of a sweep's kernel section, names of our own and Lua's keywords, which no parameter may
 * have. */
static const char *const reserved_names[] = {
    "template", "constraint", "cache",    "iteration", "reference",  "and",       "or",    "not",
    "yes",      "no",         "true",     "false",     "nil",        "min",       "max",   "abs",
    "floor",    "ceil",       "ceil_div", "round_up",  "log2_floor", "log2_ceil", "break", "do",
    "else",     "elseif",     "end",      "for",       "function",   "goto",      "if",    "local",
    "repeat",   "return",     "then",     "until",     "while",      NULL};

/* A growing list of names, always ended by NULL. */
struct names {
    const char **items;
    size_t count;
};

static void names_add(struct names *names, const char *name)
{
    if (names->count > 0)
        names->count--; /* the NULL */
    *ARRAY_APPEND(names->items, names->count) = name;
    *ARRAY_APPEND(names->items, names->count) = NULL;
}

static void names_add_all(struct names *names, const char *const *more)
{
    for (; *more != NULL; more++)
        names_add(names, *more);
}

static bool names_have(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* What loading needs besides the template. */
struct loader {
    struct template *template;
    struct evaluator *evaluator;
    struct error *error;
    struct names fixed;   /* problem values, device attributes: the same for all variants */
    struct names base;    /* parameters and fixed */
    struct names buffers; /* the buffers' names and `reference` */
    struct names grids;   /* base and NAME_grid, NAME_block of all launches */
    char **made;          /* names made here: NAME_grid, NAME_block */
    size_t made_count;
};

static int fail(const struct loader *loader, int line, const char *format, const char *subject)
{
    return error_set_at(loader->error, ERROR_CONFIG, loader->template->path, line, format, subject);
}

static struct ini_entry *get(struct loader *loader, const char *section, const char *key)
{
    return ini_get(&loader->template->ini, section, key);
}

static int need(struct loader *loader, const char *section, int line, const char *key,
                struct ini_entry **entry)
{
    *entry = get(loader, section, key);
    if (*entry != NULL)
        return 0;
    return error_set_at(loader->error, ERROR_CONFIG, loader->template->path, line,
                        "section '%s' has no key '%s'", section, key);
}

/* Compiles `text` and checks its names. */
static int read_expression(struct loader *loader, const char *text, int line,
                           const struct names *known, struct expression **expression)
{
    int status = expression_new(expression, loader->evaluator, text, loader->template->path, line,
                                loader->error);
    if (status == 0)
        status = expression_check_names(*expression, known->items, loader->error);
    return status;
}

/* The same for a key that may be missing, which leaves NULL. */
static int read_key(struct loader *loader, const char *section, const char *key,
                    const struct names *known, struct expression **expression)
{
    const struct ini_entry *entry = get(loader, section, key);
    return entry == NULL ? 0
                         : read_expression(loader, entry->value, entry->line, known, expression);
}

/* A path in the template, relative to the template's folder; a new string. */
static char *resolve_path(const struct loader *loader, const char *path)
{
    if (path[0] == '/')
        return alloc_string(path);
    char *copy = alloc_string(loader->template->path);
    char *resolved = alloc_format("%s/%s", dirname(copy), path);
    free(copy);
    return resolved;
}

/* -- names and values ----------------------------------------------------------------------------
 */

static int check_letters(const struct loader *loader, const char *name, int line)
{
    size_t length = strlen(name);
    if (length < 1 || length > 31 || !islower((unsigned char)name[0]) ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length)
        return fail(loader, line,
                    "name '%s' is not up to 31 lower-case letters, digits and underscores", name);
    return 0;
}

/* That a new name means nothing else. */
static int check_unused(const struct loader *loader, const char *name, int line)
{
    const struct template *template = loader->template;
    if (names_have(reserved_names, name) || names_have(figure_names, name) ||
        names_have(launch_figure_names, name) || names_have(gpu_binding_names(), name))
        return fail(loader, line, "name '%s' means something else in expressions; choose another",
                    name);
    bool used = template_parameter(template, name) != NULL ||
                template_problem_value(template, name) != NULL;
    for (size_t i = 0; i < template->buffer_count && !used; i++)
        used = strcmp(template->buffers[i].name, name) == 0;
    return used ? fail(loader, line, "name '%s' is given twice", name) : 0;
}

static int check_name(const struct loader *loader, const char *name, int line)
{
    int status = check_letters(loader, name, line);
    return status != 0 ? status : check_unused(loader, name, line);
}

/* "two_pass | atomic | last_block", or one number. */
static int read_parameter(struct loader *loader, struct parameter *parameter,
                          const struct ini_entry *entry)
{
    char **words;
    size_t count = text_split(entry->value, '|', &words);
    struct error reason = {0};
    int status = 0;
    *parameter = (struct parameter){.name = entry->key, .line = entry->line};
    for (size_t i = 0; i < count && status == 0; i++) {
        struct value value;
        if (value_parse(words[i], &value, &reason) != 0)
            status = fail(loader, entry->line, "%s", reason.message);
        else if (value.kind != VALUE_WORD && count > 1)
            status = fail(loader, entry->line,
                          "'%s' is no word: '|' separates the words a parameter may have; give "
                          "numbers one default, the sweep lists the others",
                          words[i]);
        else if (i == 0)
            parameter->fallback = value;
    }
    if (status == 0 && count == 0)
        status = fail(loader, entry->line, "'%s' has no default", entry->key);
    if (status == 0 && parameter->fallback.kind == VALUE_WORD) {
        parameter->words = words;
        parameter->word_count = count;
    } else {
        text_split_release(words, count);
    }
    return status;
}

static int read_parameters(struct loader *loader, const char *section, bool compiled)
{
    struct template *template = loader->template;
    bool is_problem = strcmp(section, "problem") == 0;
    for (size_t i = 0; i < template->ini.count; i++) {
        struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->section, section) != 0)
            continue;
        entry->used = true;
        struct parameter parameter;
        int status = check_name(loader, entry->key, entry->line);
        if (status == 0)
            status = read_parameter(loader, &parameter, entry);
        if (status != 0)
            return status;
        /* a word can only reach a kernel as a definition */
        parameter.compiled = compiled || parameter.words != NULL;
        if (is_problem)
            *ARRAY_APPEND(template->problem, template->problem_count) = parameter;
        else
            *ARRAY_APPEND(template->parameters, template->parameter_count) = parameter;
        if (parameter.compiled && strlen(parameter.name) < 2)
            return fail(loader, entry->line,
                        "name '%s' is one letter, which as a macro would break the compiler's own "
                        "headers; choose a longer one",
                        entry->key);
    }
    return 0;
}

static const struct parameter *find_parameter(const struct parameter *parameters, size_t count,
                                              const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return &parameters[i];
    return NULL;
}

const struct parameter *template_parameter(const struct template *template, const char *name)
{
    return find_parameter(template->parameters, template->parameter_count, name);
}

const struct parameter *template_problem_value(const struct template *template, const char *name)
{
    return find_parameter(template->problem, template->problem_count, name);
}

int parameter_check(const struct parameter *parameter, struct value value, const char *file,
                    int line, struct error *error)
{
    char text[VALUE_TEXT_BYTES];
    value_text(value, text);
    if (parameter->words == NULL) {
        if (value.kind != VALUE_WORD)
            return 0;
        return error_set_at(error, ERROR_CONFIG, file, line, "'%s' takes numbers, not '%s'",
                            parameter->name, text);
    }
    struct names words = {0};
    for (size_t i = 0; i < parameter->word_count; i++)
        names_add(&words, parameter->words[i]);
    int status = 0;
    if (!names_have(words.items, text)) {
        char *what = alloc_format("value of %s", parameter->name);
        status = ini_unknown(file, line, what, text, words.items, error);
        free(what);
    }
    free(words.items);
    return status;
}

/* -- types, fills, comparisons -------------------------------------------------------------------
 */

/* `scratch`: a tunable's word will do as well, since the buffer is made for each variant. */
static int check_type(const struct loader *loader, const char *type, int line, bool scratch)
{
    if (element_from_name(type, strlen(type)) >= 0)
        return 0;
    const struct parameter *word = template_problem_value(loader->template, type);
    if (word == NULL && scratch)
        word = template_parameter(loader->template, type);
    if (word == NULL)
        return ini_unknown(loader->template->path, line, "element type", type, element_names(),
                           loader->error);
    for (size_t i = 0; i < word->word_count; i++)
        if (element_from_name(word->words[i], strlen(word->words[i])) < 0)
            return fail(loader, line, "word '%s' of the type's parameter is no element type",
                        word->words[i]);
    return word->word_count > 0 ? 0 : fail(loader, line, "'%s' holds numbers, not types", type);
}

int template_element_type(const char *type, const struct scope *scope, enum element_type *element,
                          struct error *error)
{
    int found = element_from_name(type, strlen(type));
    for (; found < 0 && scope != NULL; scope = scope->outer) {
        const struct value *value = bindings_find(scope->bindings, type);
        if (value != NULL && value->kind == VALUE_WORD)
            found = element_from_name(value->as.word, strlen(value->as.word));
    }
    if (found < 0)
        return error_set(error, ERROR_CONFIG, "'%s' is no element type", type);
    *element = (enum element_type)found;
    return 0;
}

/* Splits "word(a, b)" into its word, in place, and its inner text; false where it has another
 * shape. */
static bool split_call(char *text, char **inner)
{
    char *open = strchr(text, '(');
    size_t length = strlen(text);
    if (open == NULL || text[length - 1] != ')')
        return false;
    text[length - 1] = '\0';
    *open = '\0';
    *inner = open + 1;
    for (char *p = open; p > text && isspace((unsigned char)p[-1]); p--)
        p[-1] = '\0';
    return true;
}

static const struct {
    const char *name;
    size_t least, most; /* arguments */
} fills[] = {
    [FILL_CONSTANT] = {"constant", 1, 1}, [FILL_UNIFORM] = {"uniform", 2, 3},
    [FILL_INTEGERS] = {"integers", 2, 3}, [FILL_COUNTING] = {"counting", 2, 2},
    [FILL_FILE] = {"file", 1, 1},
};

static int read_fill_call(struct loader *loader, const char *word, const char *inner, int line,
                          const struct names *known, struct fill *fill)
{
    size_t kind = 0;
    while (kind < sizeof fills / sizeof *fills && strcmp(fills[kind].name, word) != 0)
        kind++;
    if (kind == sizeof fills / sizeof *fills)
        return fail(loader, line,
                    "unknown fill '%s'; there are constant, uniform, integers, counting and file",
                    word);
    fill->kind = (enum fill_kind)kind;
    if (fill->kind == FILL_FILE) {
        fill->path = resolve_path(loader, inner);
        return 0;
    }
    char **texts;
    size_t count = text_split(inner, ',', &texts);
    int status = 0;
    if (count < fills[kind].least || count > fills[kind].most)
        status = fail(loader, line, "wrong number of arguments to fill '%s'", word);
    for (size_t i = 0; i < count && status == 0; i++) {
        fill->argument_count = i + 1;
        status = read_expression(loader, texts[i], line, known, &fill->arguments[i]);
    }
    text_split_release(texts, count);
    return status;
}

static int read_fill(struct loader *loader, const char *text, int line, const struct names *known,
                     struct fill *fill)
{
    char *copy = alloc_string(text);
    char *inner;
    int status = split_call(copy, &inner)
                     ? read_fill_call(loader, copy, inner, line, known, fill)
                     : fail(loader, line, "fill '%s' is not of the form constant(0)", text);
    free(copy);
    return status;
}

static int read_compare(struct loader *loader, const char *section, struct expectation *expectation)
{
    struct ini_entry *entry;
    int status = need(loader, section, expectation->line, "compare", &entry);
    if (status != 0)
        return status;
    if (strcmp(entry->value, "exact") == 0 || strcmp(entry->value, "unordered") == 0) {
        expectation->compare = entry->value[0] == 'e' ? COMPARE_EXACT : COMPARE_UNORDERED;
        return 0;
    }
    char *copy = alloc_string(entry->value);
    char *inner;
    bool call = split_call(copy, &inner);
    if (call && strcmp(copy, "absolute") == 0)
        expectation->compare = COMPARE_ABSOLUTE;
    else if (call && strcmp(copy, "relative") == 0)
        expectation->compare = COMPARE_RELATIVE;
    else
        status = fail(loader, entry->line,
                      "compare '%s' is none of exact, absolute(e), relative(e), unordered",
                      entry->value);
    if (status == 0)
        status =
            read_expression(loader, inner, entry->line, &loader->base, &expectation->tolerance);
    free(copy);
    return status;
}

/* -- buffers -------------------------------------------------------------------------------------
 */

static int read_access(struct loader *loader, const char *section, struct buffer *buffer)
{
    static const char *const accesses[] = {[ACCESS_READ] = "read",
                                           [ACCESS_WRITE] = "write",
                                           [ACCESS_READ_WRITE] = "read_write",
                                           [ACCESS_SCRATCH] = "scratch",
                                           NULL};
    struct ini_entry *entry;
    int status = need(loader, section, buffer->line, "access", &entry);
    if (status != 0)
        return status;
    for (int i = 0; accesses[i] != NULL; i++) {
        if (strcmp(accesses[i], entry->value) == 0) {
            buffer->access = (enum buffer_access)i;
            return 0;
        }
    }
    return ini_unknown(loader->template->path, entry->line, "access", entry->value, accesses,
                       loader->error);
}

static int read_buffer(struct loader *loader, const char *section, struct buffer *buffer)
{
    struct ini_entry *type;
    struct ini_entry *length;
    int status = need(loader, section, buffer->line, "type", &type);
    if (status == 0)
        status = need(loader, section, buffer->line, "length", &length);
    if (status == 0)
        status = read_access(loader, section, buffer);
    bool scratch = buffer->access == ACCESS_SCRATCH;
    if (status == 0)
        status = check_type(loader, type->value, type->line, scratch);
    if (status != 0)
        return status;
    buffer->type = type->value;
    const struct names *known = scratch ? &loader->grids : &loader->fixed;
    status = read_expression(loader, length->value, length->line, known, &buffer->length);
    const struct ini_entry *fill = get(loader, section, "fill");
    buffer->fill.kind = FILL_NONE;
    bool takes_fill = buffer->access != ACCESS_WRITE;
    bool needs_fill = buffer->access == ACCESS_READ || buffer->access == ACCESS_READ_WRITE;
    if (status == 0 && fill == NULL && needs_fill)
        status =
            fail(loader, buffer->line, "buffer '%s' needs a fill, as uniform(-1, 1)", buffer->name);
    if (status == 0 && fill != NULL && !takes_fill)
        status = fail(loader, fill->line,
                      "buffer '%s' is an output, which is poisoned; use read_write for one that "
                      "starts with a fill",
                      buffer->name);
    if (status == 0 && fill != NULL)
        status = read_fill(loader, fill->value, fill->line, known, &buffer->fill);
    return status;
}

/* -- launches ------------------------------------------------------------------------------------
 */

static int read_extents(struct loader *loader, const char *section, const char *key,
                        const struct names *known, struct expression **extents, size_t *count)
{
    const struct ini_entry *entry = get(loader, section, key);
    *count = 0;
    if (entry == NULL)
        return 0;
    char **texts;
    size_t parts = text_split(entry->value, ',', &texts);
    int status = parts >= 1 && parts <= 3
                     ? 0
                     : fail(loader, entry->line, "'%s' takes 1 to 3 expressions", key);
    for (size_t i = 0; i < parts && status == 0; i++) {
        *count = i + 1;
        status = read_expression(loader, texts[i], entry->line, known, &extents[i]);
    }
    text_split_release(texts, parts);
    return status;
}

/* "uint64 n" is a scalar; anything else an expression that yields a buffer. */
static int read_argument(struct loader *loader, const char *text, int line,
                         const struct names *known, struct argument *argument)
{
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
    int type = isspace((unsigned char)text[word]) ? element_from_name(text, word) : -1;
    argument->is_buffer = type < 0;
    if (type >= 0) {
        argument->type = (enum element_type)type;
        text += word + strspn(text + word, " \t");
    }
    int status = read_expression(loader, text, line, known, &argument->expression);
    if (status != 0 || !argument->is_buffer)
        return status;
    for (size_t i = 0; i < expression_name_count(argument->expression); i++) {
        const char *name = expression_name(argument->expression, i);
        if (names_have(loader->buffers.items, name) && !names_have(loader->base.items, name))
            return 0;
    }
    return fail(loader, line, "argument '%s' names no buffer; give a scalar its type, as uint64 n",
                text);
}

static int read_arguments(struct loader *loader, const char *section, const struct names *known,
                          struct launch *launch)
{
    const struct ini_entry *entry = get(loader, section, "arguments");
    if (entry == NULL)
        return 0;
    char **texts;
    size_t count = text_split(entry->value, ',', &texts);
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = read_argument(loader, texts[i], entry->line, known,
                               ARRAY_APPEND(launch->arguments, launch->argument_count));
    text_split_release(texts, count);
    return status;
}

static int read_loop(struct loader *loader, const char *section, const struct names *known,
                     struct launch *launch)
{
    const char *const keys[] = {"from", "while", "next"};
    struct expression **const expressions[] = {&launch->from, &launch->condition, &launch->next};
    for (size_t i = 0; i < 3; i++) {
        struct ini_entry *entry = get(loader, section, keys[i]);
        if (launch->loop == NULL && entry != NULL)
            return fail(loader, entry->line, "'%s' without a 'loop' variable", keys[i]);
        if (launch->loop == NULL)
            continue;
        int status = need(loader, section, launch->line, keys[i], &entry);
        if (status == 0)
            status = read_expression(loader, entry->value, entry->line,
                                     i == 0 ? &loader->base : known, expressions[i]);
        if (status != 0)
            return status;
    }
    return 0;
}

/* Everything that a launch and a reference share: geometry and arguments. */
static int read_geometry(struct loader *loader, const char *section, const struct names *known,
                         struct launch *launch)
{
    int status = read_extents(loader, section, "grid", known, launch->grid, &launch->grid_count);
    if (status == 0)
        status = read_extents(loader, section, "block", known, launch->block, &launch->block_count);
    if (status == 0)
        status = read_key(loader, section, "shared_bytes", known, &launch->shared_bytes);
    struct names names = {0};
    names_add_all(&names, known->items);
    names_add_all(&names, loader->buffers.items);
    if (status == 0)
        status = read_arguments(loader, section, &names, launch);
    free(names.items);
    return status;
}

/* The loop variable is a name of its own. */
static int read_loop_name(struct loader *loader, const char *section, struct launch *launch,
                          struct names *known)
{
    const struct ini_entry *entry = get(loader, section, "loop");
    if (entry == NULL)
        return 0;
    int status = check_name(loader, entry->value, entry->line);
    if (status == 0 && names_have(loader->grids.items, entry->value))
        status = fail(loader, entry->line, "name '%s' is given twice", entry->value);
    if (status != 0)
        return status;
    launch->loop = entry->value;
    names_add(known, launch->loop);
    names_add(known, "iteration");
    return 0;
}

static int read_launch(struct loader *loader, const char *section, struct launch *launch)
{
    struct names known = {0}; /* base, own figures, earlier launches, loop variable */
    struct ini_entry *entry;
    bool main = false;
    names_add_all(&known, loader->base.items);
    names_add_all(&known, launch_figure_names);
    for (size_t i = 0; loader->grids.items != NULL && i + 1 < loader->made_count; i += 2) {
        if (&loader->template->launches[i / 2] == launch)
            break;
        names_add(&known, loader->made[i]);
        names_add(&known, loader->made[i + 1]);
    }
    int status = need(loader, section, launch->line, "entry", &entry);
    if (status == 0)
        launch->entry = alloc_string(entry->value);
    if (status == 0)
        status = read_loop_name(loader, section, launch, &known);
    if (status == 0)
        status = read_key(loader, section, "when", &loader->base, &launch->when);
    if (status == 0)
        status = read_geometry(loader, section, &known, launch);
    for (size_t i = 0; i < launch->argument_count && status == 0; i++)
        if (expression_uses(launch->arguments[i].expression, "reference"))
            status = fail(loader, launch->line,
                          "launch '%s' has 'reference' among its arguments, which only the "
                          "reference of an [expect] section has",
                          launch->name);
    if (status == 0 && (launch->grid_count == 0 || launch->block_count == 0))
        status =
            need(loader, section, launch->line, launch->grid_count == 0 ? "grid" : "block", &entry);
    if (status == 0)
        status = read_loop(loader, section, &known, launch);
    if (status == 0)
        status = read_key(loader, section, "cooperative", &loader->base, &launch->cooperative);
    if (status == 0)
        status = read_key(loader, section, "co_resident", &loader->base, &launch->co_resident);
    entry = get(loader, section, "main");
    if (status == 0 && entry != NULL) {
        main = strcmp(entry->value, "yes") == 0;
        if (!main && strcmp(entry->value, "no") != 0)
            status = fail(loader, entry->line, "main '%s' is neither yes nor no", entry->value);
    }
    launch->main = main;
    free(known.items);
    return status;
}

/* -- expectations --------------------------------------------------------------------------------
 */

static int find_buffer(const struct loader *loader, const char *name, int line, size_t *index)
{
    struct names names = {0};
    for (size_t i = 0; i < loader->template->buffer_count; i++) {
        names_add(&names, loader->template->buffers[i].name);
        if (strcmp(loader->template->buffers[i].name, name) == 0) {
            *index = i;
            free(names.items);
            return 0;
        }
    }
    names_add_all(&names, (const char *const[]){NULL});
    int status =
        names.items == NULL
            ? fail(loader, line, "unknown buffer '%s': the template has none", name)
            : ini_unknown(loader->template->path, line, "buffer", name, names.items, loader->error);
    free(names.items);
    return status;
}

static int read_expectation(struct loader *loader, const char *section,
                            struct expectation *expectation)
{
    struct ini_entry *reference;
    int status =
        find_buffer(loader, strchr(section, '.') + 1, expectation->line, &expectation->buffer);
    if (status == 0)
        status = need(loader, section, expectation->line, "reference", &reference);
    if (status == 0)
        status = read_compare(loader, section, expectation);
    if (status != 0)
        return status;
    const struct ini_entry *type = get(loader, section, "reference_type");
    if (type != NULL) {
        expectation->reference_type = type->value;
        status = check_type(loader, type->value, type->line, false);
    }
    if (status == 0 && strchr(reference->value, '(') != NULL) {
        status = read_fill(loader, reference->value, reference->line, &loader->fixed,
                           &expectation->fill);
        if (status == 0 && expectation->fill.kind != FILL_CONSTANT &&
            expectation->fill.kind != FILL_FILE)
            status = fail(loader, reference->line,
                          "reference '%s' is none of an entry, constant(x), file(x.npy)",
                          reference->value);
        expectation->kind = expectation->fill.kind == FILL_FILE ? EXPECT_FILE : EXPECT_CONSTANT;
        return status;
    }
    expectation->kind = EXPECT_REFERENCE;
    expectation->reference.name = "reference";
    expectation->reference.entry = alloc_string(reference->value);
    expectation->reference.line = expectation->line;
    return status != 0 ? status
                       : read_geometry(loader, section, &loader->fixed, &expectation->reference);
}

/* -- the file ------------------------------------------------------------------------------------
 */

/* Every kind of section, its keys (NULL: any), and the array its members go to. */
static const char *const kernel_keys[] = {"source",     "description", "options", "include",
                                          "constraint", "cache",       NULL};
static const char *const buffer_keys[] = {"type", "length", "access", "fill", NULL};
static const char *const launch_keys[] = {
    "entry",       "when", "grid", "block", "shared_bytes", "arguments", "cooperative",
    "co_resident", "main", "loop", "from",  "while",        "next",      NULL};
static const char *const expect_keys[] = {"reference",    "reference_type", "grid",    "block",
                                          "shared_bytes", "arguments",      "compare", NULL};
static const char *const metrics_keys[] = {"bytes", "operations", NULL};

static const struct section_kind {
    const char *name; /* with a dot at the end: one section a member */
    const char *const *keys;
} section_kinds[] = {
    {"kernel", kernel_keys},  {"parameters", NULL},      {"launch_parameters", NULL},
    {"problem", NULL},        {"buffer.", buffer_keys},  {"launch.", launch_keys},
    {"expect.", expect_keys}, {"metrics", metrics_keys},
};

static bool section_is(const char *section, const char *kind)
{
    size_t length = strlen(kind);
    if (kind[length - 1] == '.')
        return strncmp(section, kind, length) == 0 && section[length] != '\0';
    return strcmp(section, kind) == 0;
}

static int check_entry(const struct loader *loader, const struct ini_entry *entry)
{
    static const char *const known[] = {"kernel",      "parameters",  "launch_parameters",
                                        "problem",     "buffer.NAME", "launch.NAME",
                                        "expect.NAME", "metrics",     NULL};
    const char *path = loader->template->path;
    for (size_t i = 0; i < sizeof section_kinds / sizeof *section_kinds; i++) {
        if (!section_is(entry->section, section_kinds[i].name))
            continue;
        if (entry->key == NULL || section_kinds[i].keys == NULL ||
            names_have(section_kinds[i].keys, entry->key))
            return 0;
        return ini_unknown(path, entry->line, "key", entry->key, section_kinds[i].keys,
                           loader->error);
    }
    if (entry->section[0] == '\0')
        return fail(loader, entry->line, "key '%s' stands before the first section", entry->key);
    return ini_unknown(path, entry->line, "section", entry->section, known, loader->error);
}

static int check_entries(const struct loader *loader)
{
    for (size_t i = 0; i < loader->template->ini.count; i++) {
        int status = check_entry(loader, &loader->template->ini.entries[i]);
        if (status != 0)
            return status;
    }
    return 0;
}

/* Members of buffers, launches and expectations first get their names, since expressions use them.
 */
static int collect_members(struct loader *loader)
{
    struct template *template = loader->template;
    for (size_t i = 0; i < template->ini.count; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        const char *dot = strchr(entry->section, '.');
        if (entry->key != NULL || dot == NULL)
            continue;
        int status = 0;
        if (entry->section[0] == 'b') {
            status = check_name(loader, dot + 1, entry->line);
            struct buffer *buffer = ARRAY_APPEND(template->buffers, template->buffer_count);
            *buffer = (struct buffer){.name = dot + 1, .line = entry->line};
        } else if (entry->section[0] == 'l') {
            status = check_letters(loader, dot + 1, entry->line);
            struct launch *launch = ARRAY_APPEND(template->launches, template->launch_count);
            *launch = (struct launch){.name = dot + 1, .line = entry->line};
        } else {
            struct expectation *expectation =
                ARRAY_APPEND(template->expectations, template->expectation_count);
            *expectation = (struct expectation){.line = entry->line};
        }
        if (status != 0)
            return status;
    }
    if (template->launch_count == 0)
        return fail(loader, 0, "the template has no [launch.%s] section: nothing to run", "NAME");
    if (template->expectation_count == 0)
        return fail(loader, 0, "the template has no [expect.%s] section: nothing would be verified",
                    "NAME");
    return 0;
}

/* NAME_grid and NAME_block of every launch. */
static int collect_grids(struct loader *loader)
{
    struct template *template = loader->template;
    int status = 0;
    for (size_t i = 0; i < template->launch_count && status == 0; i++) {
        const struct launch *launch = &template->launches[i];
        for (int j = 0; j < 2 && status == 0; j++) {
            char **made = ARRAY_APPEND(loader->made, loader->made_count);
            *made = alloc_format("%s_%s", launch->name, j == 0 ? "grid" : "block");
            names_add(&loader->grids, *made);
            status = check_unused(loader, *made, launch->line);
        }
    }
    return status;
}

static int collect_names(struct loader *loader)
{
    struct template *template = loader->template;
    for (size_t i = 0; i < template->problem_count; i++)
        names_add(&loader->fixed, template->problem[i].name);
    names_add_all(&loader->fixed, gpu_binding_names());
    for (size_t i = 0; i < template->parameter_count; i++)
        names_add(&loader->base, template->parameters[i].name);
    names_add_all(&loader->base, loader->fixed.items);
    names_add_all(&loader->grids, loader->base.items);
    for (size_t i = 0; i < template->buffer_count; i++)
        names_add(&loader->buffers, template->buffers[i].name);
    names_add(&loader->buffers, "reference");
    struct names constraint = {0};
    names_add_all(&constraint, loader->base.items);
    names_add_all(&constraint, figure_names);
    template->constraint_names = constraint.items;
    return collect_grids(loader);
}

static int read_members(struct loader *loader)
{
    struct template *template = loader->template;
    size_t buffer = 0;
    size_t launch = 0;
    size_t expectation = 0;
    int status = 0;
    for (size_t i = 0; i < template->ini.count && status == 0; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key != NULL)
            continue;
        if (section_is(entry->section, "buffer."))
            status = read_buffer(loader, entry->section, &template->buffers[buffer++]);
        else if (section_is(entry->section, "launch."))
            status = read_launch(loader, entry->section, &template->launches[launch++]);
        else if (section_is(entry->section, "expect."))
            status =
                read_expectation(loader, entry->section, &template->expectations[expectation++]);
    }
    return status;
}

static int read_constraints(struct loader *loader)
{
    struct template *template = loader->template;
    struct names known = {.items = template->constraint_names};
    for (size_t i = 0; i < template->ini.count; i++) {
        struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->key, "constraint") != 0)
            continue;
        struct expression **constraint =
            ARRAY_APPEND(template->constraints, template->constraint_count);
        int status = read_expression(loader, entry->value, entry->line, &known, constraint);
        if (status != 0)
            return status;
    }
    return 0;
}

static void read_options(struct template *template, const char *text)
{
    char **parts;
    size_t count = text_split(text, ' ', &parts);
    for (size_t i = 0; i < count; i++)
        if (parts[i][0] != '\0') /* between two blanks */
            *ARRAY_APPEND(template->options, template->option_count) = alloc_string(parts[i]);
    text_split_release(parts, count);
}

/* [kernel]: the source with its include folders, options, description, cache state. */
static int read_kernel(struct loader *loader)
{
    struct template *template = loader->template;
    const struct ini_entry *source = get(loader, "kernel", "source");
    const struct ini_entry *include = get(loader, "kernel", "include");
    const struct ini_entry *options = get(loader, "kernel", "options");
    const struct ini_entry *description = get(loader, "kernel", "description");
    const struct ini_entry *cache = get(loader, "kernel", "cache");
    char *file = alloc_format("%s.cu", template->name);
    char *path = resolve_path(loader, source != NULL ? source->value : file);
    char **folders = NULL;
    size_t folder_count = include != NULL ? text_split(include->value, ',', &folders) : 0;
    if (options != NULL)
        read_options(template, options->value);
    template->description = description != NULL ? description->value : "";
    template->cold = cache == NULL || strcmp(cache->value, "warm") != 0;
    int status = 0;
    if (cache != NULL && template->cold && strcmp(cache->value, "cold") != 0)
        status = fail(loader, cache->line, "cache '%s' is neither cold nor warm", cache->value);
    if (status == 0)
        status = source_load(&template->source, path, (const char *const *)folders, folder_count,
                             loader->error);
    text_split_release(folders, folder_count);
    free(path);
    free(file);
    return status;
}

static void hash_template(struct template *template)
{
    struct hash *hash = hash_new();
    hash_add_text(hash, template->source.hash);
    for (size_t i = 0; i < template->ini.count; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        hash_add_text(hash, entry->section);
        hash_add_text(hash, entry->key != NULL ? entry->key : "");
        hash_add_text(hash, entry->value);
    }
    hash_finish(hash, template->hash);
}

/* The pipeline of loading: names first, then what uses them. */
static int load(struct loader *loader)
{
    struct names *grids = &loader->grids;
    int status = check_entries(loader);
    if (status == 0)
        status = read_kernel(loader);
    if (status == 0)
        status = read_parameters(loader, "parameters", true);
    if (status == 0)
        status = read_parameters(loader, "launch_parameters", false);
    if (status == 0)
        status = read_parameters(loader, "problem", false);
    if (status == 0)
        status = collect_members(loader);
    if (status == 0)
        status = collect_names(loader);
    if (status == 0)
        status = read_members(loader);
    if (status == 0)
        status = read_constraints(loader);
    if (status == 0)
        status = read_key(loader, "metrics", "bytes", grids, &loader->template->bytes);
    if (status == 0)
        status = read_key(loader, "metrics", "operations", grids, &loader->template->operations);
    return status;
}

static char *template_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return alloc_string_n(base, dot != NULL ? (size_t)(dot - base) : strlen(base));
}

int template_load(struct template *template, struct evaluator *evaluator, const char *path,
                  struct error *error)
{
    *template = (struct template){0};
    int status = ini_read(&template->ini, path, error);
    if (status != 0)
        return status;
    template->path = alloc_string(path);
    template->name = template_name_of(path);
    struct loader loader = {.template = template, .evaluator = evaluator, .error = error};
    status = load(&loader);
    if (status == 0)
        hash_template(template);
    text_split_release(loader.made, loader.made_count);
    free(loader.fixed.items);
    free(loader.base.items);
    free(loader.buffers.items);
    free(loader.grids.items);
    if (status != 0)
        template_release(template);
    return status;
}

const char *const *template_figure_names(void)
{
    return figure_names;
}

bool constraint_needs_figures(const struct expression *constraint)
{
    for (size_t i = 0; i < expression_name_count(constraint); i++)
        if (names_have(figure_names, expression_name(constraint, i)))
            return true;
    return false;
}

static void fill_release(struct fill *fill)
{
    for (size_t i = 0; i < 3; i++)
        expression_free(fill->arguments[i]);
    free(fill->path);
}

static void launch_release(struct launch *launch)
{
    for (size_t i = 0; i < 3; i++) {
        expression_free(launch->grid[i]);
        expression_free(launch->block[i]);
    }
    for (size_t i = 0; i < launch->argument_count; i++)
        expression_free(launch->arguments[i].expression);
    expression_free(launch->when);
    expression_free(launch->shared_bytes);
    expression_free(launch->cooperative);
    expression_free(launch->co_resident);
    expression_free(launch->from);
    expression_free(launch->condition);
    expression_free(launch->next);
    free(launch->arguments);
    free(launch->entry);
}

static void parameters_release(struct parameter *parameters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_split_release(parameters[i].words, parameters[i].word_count);
    free(parameters);
}

void template_release(struct template *template)
{
    parameters_release(template->parameters, template->parameter_count);
    parameters_release(template->problem, template->problem_count);
    for (size_t i = 0; i < template->buffer_count; i++) {
        expression_free(template->buffers[i].length);
        fill_release(&template->buffers[i].fill);
    }
    for (size_t i = 0; i < template->launch_count; i++)
        launch_release(&template->launches[i]);
    for (size_t i = 0; i < template->expectation_count; i++) {
        launch_release(&template->expectations[i].reference);
        fill_release(&template->expectations[i].fill);
        expression_free(template->expectations[i].tolerance);
    }
    for (size_t i = 0; i < template->constraint_count; i++)
        expression_free(template->constraints[i]);
    expression_free(template->bytes);
    expression_free(template->operations);
    text_split_release(template->options, template->option_count);
    source_release(&template->source);
    ini_release(&template->ini);
    free(template->buffers);
    free(template->launches);
    free(template->expectations);
    free(template->constraints);
    free(template->constraint_names);
    free(template->name);
    free(template->path);
    *template = (struct template){0};
}
