#include "template/loader.h"

#include "base/alloc.h"
#include "template/launch_plan.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- plain arguments --- */

/* The type in front of "uint64 n" or "bool x", a condition, and behind it; -1 for what has none. */
static int read_type(const char **text, bool *is_condition)
{
    size_t word = strspn(*text, "abcdefghijklmnopqrstuvwxyz0123456789");
    bool typed = isspace((unsigned char)(*text)[word]);
    int type = typed ? element_from_name(*text, word) : -1;
    *is_condition = typed && word == strlen("bool") && strncmp(*text, "bool", word) == 0;
    if (*is_condition)
        type = ELEMENT_UINT8;
    if (type >= 0)
        *text += word + strspn(*text + word, " \t");
    return type;
}

/* "uint64 n" is a scalar, "bool x" a condition; anything else an expression that yields a buffer. */
static void read_plain(struct loader *loader, const char *text, const struct place *at,
                       struct argument *argument)
{
    int type = read_type(&text, &argument->is_condition);
    argument->kind = type < 0 ? ARGUMENT_BUFFER : ARGUMENT_SCALAR;
    if (type >= 0)
        argument->type = (enum element_type)type;
    argument->expression = loader_expression(loader, text, at);
    if (argument->expression == NULL || type >= 0)
        return;
    for (size_t i = 0; i < expression_name_count(argument->expression); i++) {
        const char *name = expression_name(argument->expression, i);
        if (strcmp(name, "null") == 0 ||
            (names_have(loader->buffers.items, name) && !names_have(loader->base.items, name)) ||
            strncmp(name, EXPECTED_PREFIX, strlen(EXPECTED_PREFIX)) == 0)
            return;
    }
    loader_fail(loader, at->line,
                "argument '%s' is not a buffer; give a scalar its type, such as uint64 n", text);
}

/* "a, b, c by m * k": the buffers a, b, and the parts of c of so many elements. */
static void read_pointers(struct loader *loader, const char *inner, const struct place *at,
                          struct argument *argument)
{
    static const char by[] = " by ";
    char **texts;
    size_t count = loader_split(loader, inner, ',', &texts);
    if (count == 0)
        loader_fail(loader, at->line, "pointers(%s) has no buffers", inner);
    for (size_t i = 0; i < count; i++) {
        struct argument *field = ARRAY_APPEND(argument->fields, argument->field_count);
        char *part = strstr(texts[i], by);
        if (part != NULL) {
            *part = '\0';
            field->part = loader_expression(loader, part + strlen(by), at);
        }
        read_plain(loader, texts[i], at, field);
        if (field->kind != ARGUMENT_BUFFER)
            loader_fail(loader, at->line, "'%s' among pointers is not a buffer", texts[i]);
    }
    (void)template_keep(loader->template, argument->fields);
}

/* --- structs --- */

/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
static bool are_alike(const struct argument *a, const struct argument *b)
{
    bool alike = a->kind == b->kind && a->type == b->type && a->is_condition == b->is_condition &&
                 a->field_count == b->field_count;
    for (size_t i = 0; alike && i < a->field_count; i++)
        alike = are_alike(&a->fields[i], &b->fields[i]);
    return alike;
}

/* Cuts " for 100" off the end; 0: there is none. */
static size_t read_repeats(struct loader *loader, char *text, const struct place *at)
{
    static const char word[] = " for ";
    char *found = NULL;
    char *end;
    for (char *next = text; (next = strstr(next, word)) != NULL; next++)
        found = next;
    if (found == NULL || strchr(found, ')') != NULL)
        return 0;
    const char *digits = found + strlen(word);
    unsigned long repeats = strtoul(digits, &end, 10);
    if (!isdigit((unsigned char)digits[0]) || *end != '\0' || repeats == 0 ||
        repeats > PARAMETER_BYTES)
        loader_fail(loader, at->line, "'%s' is not a number of elements, 1 to %d", digits,
                    PARAMETER_BYTES);
    *found = '\0';
    return repeats;
}

static void read_member(struct loader *loader, const char *text, const struct place *at,
                        struct argument *argument);

/* "x for 4": so many members, in which `index` counts from 0. The type of an array's first number is that of
 * the others. */
static void read_element(struct loader *loader, char *text, const struct place *at,
                         struct argument *argument)
{
    const char *untyped = text;
    bool is_condition;
    struct names names = {0};
    const struct place counted = {at->line, &names};
    const size_t number = loader->number;
    size_t repeats = argument->kind == ARGUMENT_ARRAY ? read_repeats(loader, text, at) : 0;
    const struct argument *first = argument->fields;
    if (argument->kind == ARGUMENT_ARRAY && argument->field_count > 0 &&
        first->kind == ARGUMENT_SCALAR && read_type(&untyped, &is_condition) < 0)
        text = template_keep(
            loader->template,
            alloc_format("%s %s", first->is_condition ? "bool" : element_name(first->type), text));
    names_add_all(&names, at->known->items);
    names_add(&names, "index");
    for (size_t i = 0; i < (repeats > 0 ? repeats : 1) && !loader_failed(loader); i++) {
        struct argument *field = ARRAY_APPEND(argument->fields, argument->field_count);
        loader->number = repeats > 0 ? i + 1 : number;
        read_member(loader, text, repeats > 0 ? &counted : at, field);
        field->repeats = repeats;
        if (argument->kind == ARGUMENT_ARRAY && !are_alike(&argument->fields[0], field))
            loader_fail(loader, at->line, "'%s' of an array is not like its first element", text);
    }
    loader->number = number;
    free(names.items);
}

/* "x, float 1, struct(…), array(…)", the inside of a struct; or of an array, of members that are alike. */
static void read_fields(struct loader *loader, const char *inner, const struct place *at,
                        struct argument *argument)
{
    enum { DEEPEST = 32 };
    bool array = argument->kind == ARGUMENT_ARRAY;
    char **texts;
    size_t count = loader_split(loader, inner, ',', &texts);
    if (++loader->depth > DEEPEST)
        loader_fail(loader, at->line, "structs are nested more than %d deep", DEEPEST);
    if (count == 0 && array)
        loader_fail(loader, at->line, "array() has no elements");
    for (size_t i = 0; i < count && !loader_failed(loader); i++)
        read_element(loader, texts[i], at, argument);
    loader->depth--;
    (void)template_keep(loader->template, argument->fields);
    argument_lay_out(argument);
    if (argument->bytes > PARAMETER_BYTES)
        loader_fail(loader, at->line, "%.60s(%.100s) has %zu bytes; a kernel takes at most %d",
                    array ? "array" : "struct", inner, argument->bytes, PARAMETER_BYTES);
}

/* --- textures --- */

/* False if `text` is none of the words. */
static bool read_texture_word(const char *text, struct texture_options *options)
{
    static const char *const addresses[] = {[TEXTURE_WRAP] = "wrap",
                                            [TEXTURE_CLAMP] = "clamp",
                                            [TEXTURE_MIRROR] = "mirror",
                                            [TEXTURE_BORDER] = "border",
                                            NULL};
    int address = names_index(addresses, text);
    if (address >= 0)
        options->address = (enum texture_address)address;
    else if (strcmp(text, "point") == 0 || strcmp(text, "linear") == 0)
        options->linear = text[0] == 'l';
    else if (strcmp(text, "normalized") == 0)
        options->normalized = true;
    else if (strcmp(text, "as_float") == 0)
        options->as_float = true;
    else
        return false;
    return true;
}

/* "image, width, height, linear, …": the buffer, then nothing or two extents, then words. */
static void read_texture(struct loader *loader, const char *inner, const struct place *at,
                         struct argument *argument)
{
    char **parts;
    size_t count = loader_split(loader, inner, ',', &parts);
    size_t extents = 0;
    bool words = false;
    argument->texture.address = TEXTURE_CLAMP;
    if (count == 0 || !names_have(loader->buffers.items, parts[0]))
        loader_fail(loader, at->line, "'texture(%s)' is not a texture over a buffer", inner);
    for (size_t i = 0; i < count && !loader_failed(loader); i++) {
        if (i == 0)
            argument->expression = loader_expression(loader, parts[0], at);
        else if (read_texture_word(parts[i], &argument->texture))
            words = true;
        else if (words || extents == 2)
            loader_fail(loader, at->line,
                        "'%s' in a texture is none of point, linear, clamp, border, wrap, "
                        "mirror, normalized, as_float",
                        parts[i]);
        else
            argument->extents[extents++] = loader_expression(loader, parts[i], at);
    }
    if (extents == 1 || (extents == 0 && words))
        loader_fail(loader, at->line,
                    "texture(%s, …) needs a width and a height, or neither and no words", parts[0]);
}

/* --- tensor maps --- */

/* Whether the first parenthesis ends with the text. */
static bool is_tuple(const char *text)
{
    int depth = 0;
    for (const char *p = text; *p != '\0'; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p > text && p[1] == '\0';
    }
    return false;
}

/* "(k, m)", or one expression: `*count` expressions or, if it is 0, 1 to TENSOR_RANK, which sets
 * it. */
static void read_tuple(struct loader *loader, const char *text, const struct place *at,
                       struct expression **expressions, size_t *count)
{
    char *inner = loader_copy(loader, text);
    char **parts;
    if (is_tuple(inner)) {
        inner[strlen(inner) - 1] = '\0';
        inner++;
    }
    size_t found = loader_split(loader, inner, ',', &parts);
    size_t least = *count > 0 ? *count : 1;
    size_t most = *count > 0 ? *count : TENSOR_RANK;
    if (found < least || found > most)
        loader_fail(loader, at->line, "'%s' of a tensor map has %zu expressions; it takes %zu%s",
                    text, found, least, least < most ? " to 5" : "");
    for (size_t i = 0; i < found && !loader_failed(loader); i++)
        expressions[i] = loader_expression(loader, parts[i], at);
    *count = found;
}

static void read_tensor_option(struct loader *loader, const char *text, const struct place *at,
                               struct tensor_map_options *options)
{
    const struct {
        const char *word;
        struct expression **expressions;
        size_t count;
    } words[] = {{"swizzle", &options->swizzle, 1},
                 {"interleave", &options->interleave, 1},
                 {"l2", &options->l2, 1},
                 {"strides", &options->strides[1], options->rank - 1},
                 {"steps", &options->steps[0], options->rank}};
    char *copy = loader_copy(loader, text);
    char *inner;
    bool call = split_call(copy, &inner);
    bool is_known = !call && strcmp(text, "fill_nan") == 0;
    options->fill_nan = options->fill_nan || is_known;
    for (size_t i = 0; call && i < sizeof words / sizeof *words; i++) {
        size_t count = words[i].count;
        if (strcmp(copy, words[i].word) != 0 || count == 0)
            continue;
        is_known = true;
        if (words[i].expressions[0] != NULL)
            loader_fail(loader, at->line, "'%s' is given twice in a tensor map", copy);
        read_tuple(loader, inner, at, words[i].expressions, &count);
    }
    if (!is_known)
        loader_fail(loader, at->line,
                    "'%s' in a tensor map is none of swizzle(64), interleave(32), l2(256), "
                    "strides(n), steps(1, 2), fill_nan",
                    text);
}

/* "a, (k, m), (64, 32), swizzle(128)": the buffer, its dimensions, a box, and options. */
static void read_tensor_map(struct loader *loader, const char *inner, const struct place *at,
                            struct argument *argument)
{
    struct tensor_map_options *options =
        template_keep(loader->template, alloc_zeroed(1, sizeof *options));
    char **parts;
    size_t count = loader_split(loader, inner, ',', &parts);
    argument->tensor_map = options;
    if (count >= 3 && names_have(loader->buffers.items, parts[0])) {
        argument->expression = loader_expression(loader, parts[0], at);
        read_tuple(loader, parts[1], at, options->dimensions, &options->rank);
        size_t box_rank = options->rank;
        read_tuple(loader, parts[2], at, options->box, &box_rank);
    } else {
        loader_fail(loader, at->line,
                    "'tensor_map(%s)' does not name a buffer, its dimensions and a box", inner);
    }
    for (size_t i = 3; i < count && !loader_failed(loader); i++)
        read_tensor_option(loader, parts[i], at, options);
}

/* --- arguments --- */

static bool is_call(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && text[length + strspn(text + length, " \t")] == '(';
}

static void read_call(struct loader *loader, const char *text, const struct place *at,
                      struct argument *argument)
{
    static const struct {
        const char *word, *form;
        enum argument_kind kind;
        void (*read)(struct loader *loader, const char *inner, const struct place *at,
                     struct argument *argument);
    } calls[] = {{"struct", "of the form struct(x, int32 n)", ARGUMENT_STRUCT, read_fields},
                 {"array", "of the form array(x, y)", ARGUMENT_ARRAY, read_fields},
                 {"pointers", "of the form pointers(a, b)", ARGUMENT_POINTERS, read_pointers},
                 {"texture", "a texture over a buffer", ARGUMENT_TEXTURE, read_texture},
                 {"tensor_map", "of the form tensor_map(a, (n, m), (64, 32))", ARGUMENT_TENSOR_MAP,
                  read_tensor_map}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!is_call(text, calls[i].word))
            continue;
        char *inner;
        argument->kind = calls[i].kind;
        if (split_call(loader_copy(loader, text), &inner))
            calls[i].read(loader, inner, at, argument);
        else
            loader_fail(loader, at->line, "'%s' is not %s", text, calls[i].form);
        return;
    }
    read_plain(loader, text, at, argument);
}

static void read_argument(struct loader *loader, const char *text, const struct place *at,
                          struct argument *argument)
{
    argument->number = loader->number;
    read_call(loader, text, at, argument);
    argument_lay_out(argument);
}

static void read_member(struct loader *loader, const char *text, const struct place *at,
                        struct argument *argument)
{
    read_argument(loader, text, at, argument);
    if (argument->kind == ARGUMENT_POINTERS || argument->kind == ARGUMENT_TEXTURE ||
        argument->kind == ARGUMENT_TENSOR_MAP)
        loader_fail(loader, at->line,
                    "a member or a constant is a scalar, a buffer, a struct or an array, not '%s'",
                    text);
}

void loader_read_arguments(struct loader *loader, char **texts, size_t count,
                           const struct place *at, struct launch *launch)
{
    struct names names = {0};
    const struct place own = {at->line, &names};
    const bool constants = launch == &loader->template->constants;
    names_add_all(&names, at->known->items);
    names_add_all(&names, loader->buffers.items);
    names_add(&names, "null");
    for (size_t i = 0; i < count && !loader_failed(loader); i++) {
        struct argument *argument = ARRAY_APPEND(launch->arguments, launch->argument_count);
        (constants ? read_member : read_argument)(loader, texts[i], &own, argument);
        if (argument->kind == ARGUMENT_ARRAY && !constants)
            loader_fail(loader, at->line, "'%s' is not in a struct; no kernel takes an array",
                        texts[i]);
    }
    (void)template_keep(loader->template, launch->arguments);
    free(names.items);
}

void loader_read_constants(struct loader *loader)
{
    struct template *template = loader->template;
    struct launch *constants = &template->constants;
    char **texts = NULL;
    const char **symbols = NULL;
    size_t count = 0, symbol_count = 0;
    *constants = (struct launch){.name = "constants", .entry = ""};
    for (size_t i = 0; i < template->ini.count; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        if (strcmp(entry->section, "constants") != 0 || entry->key == NULL)
            continue;
        if (count == 0)
            constants->line = constants->lines.arguments = entry->line;
        *ARRAY_APPEND(texts, count) = loader_copy(loader, entry->value);
        *ARRAY_APPEND(symbols, symbol_count) = entry->key;
    }
    loader_read_arguments(loader, texts, count, &(struct place){constants->line, &loader->base},
                          constants);
    for (size_t i = 0; i < constants->argument_count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an argument for each symbol */
        constants->arguments[i].symbol = symbols[i];
    loader_refuse_names(loader, constants, true);
    free(texts);
    free(symbols);
}

void loader_refuse_names(struct loader *loader, const struct launch *launch, bool reference)
{
    bool wrong = loader->template->verifier_count > 0 && launch_uses_buffer(launch, "wrong");
    reference = reference && launch_uses_buffer(launch, "reference");
    if (reference || wrong)
        loader_fail(loader, launch->lines.arguments,
                    "launch '%s' has '%s' among its arguments, which only %s section has",
                    launch->name, reference ? "reference" : "wrong",
                    reference ? "the reference of an [expect]" : "a [verify]");
}

void loader_check_helper(struct loader *loader, const struct launch *helper, const char *kind)
{
    for (size_t i = 0; i < helper->argument_count; i++) {
        bool texture = helper->arguments[i].kind == ARGUMENT_TEXTURE;
        if (texture || helper->arguments[i].kind == ARGUMENT_TENSOR_MAP)
            loader_fail(loader, helper->lines.arguments,
                        "%s '%s' has a %s; give it the buffer itself", kind, helper->entry,
                        texture ? "texture" : "tensor map");
    }
}

/* --- launches --- */

static void read_extents(struct loader *loader, const char *section, const char *key,
                         const struct names *known, struct expression **extents, size_t *count)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    *count = 0;
    if (entry == NULL)
        return;
    char **texts;
    size_t parts = loader_split(loader, entry->value, ',', &texts);
    if (parts < 1 || parts > 3)
        loader_fail(loader, entry->line, "'%s' takes 1 to 3 expressions", key);
    for (size_t i = 0; i < parts && !loader_failed(loader); i++) {
        extents[i] = loader_expression(loader, texts[i], &(struct place){entry->line, known});
        *count += extents[i] != NULL;
    }
}

static int line_of(struct loader *loader, const char *section, const char *key, int otherwise)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    return entry != NULL ? entry->line : otherwise;
}

/* Of the first unit that declares the entry; a C++ name joins those that are instantiated. */
static void take_entry(struct loader *loader, struct launch *launch)
{
    struct template *template = loader->template;
    const struct source *source = &template->source;
    const char *entry = launch->entry;
    bool found = false;
    for (size_t i = 0; i < source->unit_count && !found; i++)
        found = source_signature_read(source->files[i].text, entry, &launch->signature);
    for (size_t i = 0; i < launch->signature.count; i++) {
        (void)template_keep(template, launch->signature.parameters[i].text);
        (void)template_keep(template, launch->signature.parameters[i].name);
    }
    (void)template_keep(template, launch->signature.parameters);
    if (strlen(entry) >= ENTRY_BYTES)
        loader_fail(loader, launch->lines.entry, "entry '%s' has more than 255 bytes", entry);
    if (strpbrk(entry, "<:") == NULL)
        return;
    for (size_t i = 0; i < template->name_expression_count; i++)
        if (strcmp(template->name_expressions[i], entry) == 0)
            return;
    *ARRAY_APPEND(template->name_expressions, template->name_expression_count) = entry;
}

void loader_read_geometry(struct loader *loader, const char *section, const struct names *known,
                          struct launch *launch)
{
    if (loader_failed(loader))
        return;
    launch->lines = (struct launch_lines){
        .entry = line_of(loader, section, "entry", launch->line),
        .grid = line_of(loader, section, "grid", launch->line),
        .block = line_of(loader, section, "block", launch->line),
        .shared_bytes = line_of(loader, section, "shared_bytes", launch->line),
        .arguments = line_of(loader, section, "arguments", launch->line),
    };
    take_entry(loader, launch);
    read_extents(loader, section, "grid", known, launch->grid, &launch->grid_count);
    read_extents(loader, section, "block", known, launch->block, &launch->block_count);
    launch->shared_bytes = loader_expression_of(loader, section, "shared_bytes", known);
    const struct ini_entry *arguments = loader_get(loader, section, "arguments");
    if (arguments == NULL)
        return;
    char **texts;
    size_t count = loader_split(loader, arguments->value, ',', &texts);
    loader_read_arguments(loader, texts, count, &(struct place){arguments->line, known}, launch);
}

/* --- loops --- */

/* What an item of a loop's `launches` stands for: a launch, a reference or a loop, whose launches may not be known
 * yet. */
struct repeated {
    const struct launch *first; /* NULL: none */
    size_t count;
    const struct loop **outer;
};

static struct repeated find_repeated(const struct template *template, const char *name)
{
    static const char prefix[] = "reference.";
    bool reference = strncmp(name, prefix, strlen(prefix)) == 0;
    struct launch *launches = reference ? template->references : template->launches;
    const size_t count = reference ? template->reference_count : template->launch_count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(launches[i].name, name + (reference ? strlen(prefix) : 0)) == 0)
            return (struct repeated){&launches[i], 1, &launches[i].outer};
    for (size_t i = 0; i < template->loop_count; i++) {
        struct loop *loop = &template->loops[i];
        if (strcmp(loop->name, name) == 0)
            return (struct repeated){loop->first, loop->count, &loop->outer};
    }
    return (struct repeated){0};
}

static void refuse_repeated(struct loader *loader, const struct loop *loop, int line,
                            const char *name)
{
    const struct template *template = loader->template;
    struct names names = {0};
    for (size_t i = 0; i < template->launch_count; i++)
        names_add(&names, template->launches[i].name);
    for (size_t i = 0; i < template->reference_count; i++)
        names_add(&names,
                  template_keep(loader->template,
                                alloc_format("reference.%s", template->references[i].name)));
    for (size_t i = 0; i < template->loop_count; i++)
        names_add(&names, template->loops[i].name);
    if (names_have(names.items, name))
        loader_fail(loader, line, "loop '%s' repeats itself", loop->name);
    loader_fail_unknown(loader, line, "launch or loop", name, names.items);
    free(names.items);
}

/* Finds the launches of one loop. With `last`, fails if they are not known; otherwise returns false then. */
static bool link_loop(struct loader *loader, struct loop *loop, bool last)
{
    char *section = template_keep(loader->template, alloc_format("loop.%s", loop->name));
    const struct ini_entry *entry = loader_need(loader, section, loop->line, "launches");
    char **names;
    size_t count = entry != NULL ? loader_split(loader, entry->value, ',', &names) : 0;
    if (count == 0)
        loader_fail(loader, entry != NULL ? entry->line : 0, "loop '%s' has no launches",
                    loop->name);
    for (size_t i = 0; i < count; i++)
        if (find_repeated(loader->template, names[i]).first == NULL) {
            if (last)
                refuse_repeated(loader, loop, entry->line, names[i]);
            return false;
        }
    for (size_t i = 0; i < count && !loader_failed(loader); i++) {
        const struct repeated item = find_repeated(loader->template, names[i]);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every name was found above */
        if (*item.outer != NULL)
            loader_fail(loader, entry->line, "'%s' is in two loops, '%s' and '%s'", names[i],
                        (*item.outer)->name, loop->name);
        else if (i > 0 && item.first != loop->first + loop->count)
            loader_fail(
                loader, entry->line,
                "'%s' does not follow '%s' in the file; a loop repeats launches that follow "
                "each other, in their order",
                names[i], names[i - 1]);
        *item.outer = loop;
        loop->first = i == 0 ? item.first : loop->first;
        loop->count += item.count;
    }
    return true;
}

void loader_link_loops(struct loader *loader)
{
    struct template *template = loader->template;
    for (size_t i = 0; i < template->loop_count; i++) {
        loader_check_name(loader, template->loops[i].name, template->loops[i].line);
        for (size_t j = 0; j < template->launch_count; j++)
            if (strcmp(template->launches[j].name, template->loops[i].name) == 0)
                loader_fail(loader, template->loops[i].line,
                            "name '%s' is a launch's, too; choose another name",
                            template->loops[i].name);
    }
    for (bool any = true, last = false;
         (any || !last) && !loader_failed(loader);) { /* inner ones first */
        last = !any;
        any = false;
        for (size_t i = 0; i < template->loop_count && !loader_failed(loader); i++)
            if (template->loops[i].count == 0)
                any |= link_loop(loader, &template->loops[i], last);
    }
}

/* Adds the variables of the loops around something. */
static void add_variables(struct names *known, const struct loop *outer)
{
    if (outer != NULL)
        names_add(known, "iteration");
    for (; outer != NULL; outer = outer->outer)
        names_add(known, outer->name);
}

/* `known` is for `while` and `next`, `around` for `from`. */
static void read_loop(struct loader *loader, const char *section, const struct names *known,
                      const struct names *around, struct loop *loop)
{
    const char *const keys[] = {"from", "while", "next"};
    struct expression **const expressions[] = {&loop->from, &loop->condition, &loop->next};
    for (size_t i = 0; i < 3; i++) {
        const struct ini_entry *entry = loader_get(loader, section, keys[i]);
        if (loop->name != NULL) {
            (void)loader_need(loader, section, loop->line, keys[i]);
            *expressions[i] =
                loader_expression_of(loader, section, keys[i], i == 0 ? around : known);
        } else if (entry != NULL)
            loader_fail(loader, entry->line, "'%s' without a 'loop' variable", keys[i]);
    }
}

void loader_read_loop(struct loader *loader, const char *section, struct loop *loop)
{
    struct names around = {0};
    struct names known = {0};
    names_add_all(&around, loader->base.items);
    add_variables(&around, loop->outer);
    names_add_all(&known, around.items);
    names_add(&known, loop->name);
    names_add(&known, "iteration");
    read_loop(loader, section, &known, &around, loop);
    free(around.items);
    free(known.items);
}

/* The loop variable is a name of its own. */
static void read_loop_name(struct loader *loader, const char *section, struct launch *launch,
                           struct names *known)
{
    const struct ini_entry *entry = loader_get(loader, section, "loop");
    if (entry == NULL)
        return;
    loader_check_name(loader, entry->value, entry->line);
    launch->loop.name = entry->value;
    launch->loop.line = launch->line;
    names_add(known, launch->loop.name);
    names_add(known, "iteration");
}

/* --- launches, and those of references --- */

void loader_read_launch(struct loader *loader, const char *section, struct launch *launch,
                        bool reference)
{
    struct names around = {0}; /* base, the variables of the loops around it */
    struct names known = {0};  /* … a launch's own statistics, earlier launches, loop variable */
    const struct ini_entry *entry = loader_need(loader, section, launch->line, "entry");
    if (entry == NULL)
        return;
    launch->entry = entry->value;
    names_add_all(&around, loader->base.items);
    add_variables(&around, launch->outer);
    names_add_all(&known, around.items);
    if (!reference)
        names_add_all(&known, launch_stat_names());
    for (size_t i = 0; !reference && &loader->template->launches[i / 2] != launch; i++)
        names_add(&known, loader->made.items[i]);
    read_loop_name(loader, section, launch, &known);
    launch->when = loader_expression_of(loader, section, "when", &around);
    loader->expects = reference;
    loader_read_geometry(loader, section, &known, launch);
    loader->expects = false;
    loader_refuse_names(loader, launch, true);
    read_loop(loader, section, &known, &around, &launch->loop);
    if (reference) {
        loader_check_helper(loader, launch, "reference");
    } else {
        (void)loader_need(loader, section, launch->line, "grid");
        (void)loader_need(loader, section, launch->line, "block");
    }
    launch->cooperative = loader_expression_of(loader, section, "cooperative", &around);
    launch->co_resident = loader_expression_of(loader, section, "co_resident", &around);
    read_extents(loader, section, "cluster", &known, launch->cluster, &launch->cluster_count);
    launch->programmatic = loader_expression_of(loader, section, "programmatic", &known);
    launch->cluster_scheduling =
        loader_word_of(loader, section, "cluster_scheduling", cluster_scheduling_names(), &known);
    launch->shared_carveout = loader_expression_of(loader, section, "shared_carveout", &known);
    launch->main = loader_yes(loader, section, "main");
    free(around.items);
    free(known.items);
}
