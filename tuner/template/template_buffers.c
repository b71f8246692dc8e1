#include "template/loader.h"

#include "base/alloc.h"
#include "base/path.h"
#include "template/value_list.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- fills --- */

struct fill_text {
    char **parts; /* what is between the parentheses */
    size_t count;
    const char *inner; /* all of it */
    const struct place *at;
};

static void read_fill(struct loader *loader, const char *text, const struct place *at,
                      struct fill *fill);

static void read_numbers(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    static const struct {
        const char *text;
        double value;
    } specials[] = {{"inf", INFINITY}, {"-inf", -INFINITY}, {"nan", NAN}};
    for (size_t i = 0; i < 3 && fill->kind == FILL_CONSTANT; i++)
        if (strcmp(text->parts[0], specials[i].text) == 0) {
            fill->special = specials[i].value;
            return;
        }
    fill->argument_count = text->count;
    for (size_t i = 0; i < text->count; i++)
        fill->arguments[i] = loader_expression(loader, text->parts[i], text->at);
}

static void read_file(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    fill->path = template_keep(loader->template, path_beside(loader->template->path, text->inner));
}

/* The entry that kernel(...) begins with. It takes several `parts` if it is ns::fill<float, 4>. */
static char *take_entry(const char *text, size_t *parts)
{
    const char *start = text + strspn(text, " \t");
    const char *stop = start;
    int parentheses = 0;
    int angles = 0;
    *parts = 1;
    for (; *stop != '\0' && (*stop != ',' || parentheses > 0 || angles > 0); stop++) {
        parentheses += (*stop == '(') - (*stop == ')');
        angles += parentheses == 0 ? (*stop == '<') - (*stop == '>') : 0;
        *parts += parentheses == 0 && *stop == ',';
    }
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    return alloc_string_n(start, (size_t)(stop - start));
}

/* kernel(entry, arguments...), whose grid and block are keys of the buffer's section */
static void read_kernel(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    struct launch *kernel = alloc_zeroed(1, sizeof *kernel);
    size_t taken;
    fill->kernel = template_keep(loader->template, kernel);
    kernel->entry = template_keep(loader->template, take_entry(text->inner, &taken));
    kernel->lines.arguments = text->at->line;
    loader_read_arguments(loader, text->parts + taken, text->count - taken, text->at, kernel);
}

/* border(width, fill, extents...): another fill, whose elements near an edge are 0 */
/* NOLINTNEXTLINE(misc-no-recursion): a border in a border is refused */
static void read_border(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    read_fill(loader, text->parts[1], text->at, fill);
    if (fill->border != NULL)
        loader_fail(loader, fill->line, "fill 'border(%s)' has a border in a border", text->inner);
    if (loader_failed(loader))
        return;
    fill->border = loader_expression(loader, text->parts[0], text->at);
    fill->shape_count = text->count - 2;
    for (size_t i = 2; i < text->count; i++)
        fill->shape[i - 2] = loader_expression(loader, text->parts[i], text->at);
}

/* To add a fill: a line here, and where fill.c and device_kernels.cu compute its elements. */
static const struct fill_word {
    const char *name;
    size_t least, most; /* arguments */
    enum fill_kind kind;
    void (*read)(struct loader *loader, const struct fill_text *text, struct fill *fill);
} fills[] = {
    {"constant", 1, 1, FILL_CONSTANT, read_numbers},
    {"uniform", 2, 3, FILL_UNIFORM, read_numbers},
    {"integers", 2, 3, FILL_INTEGERS, read_numbers},
    {"counting", 2, 2, FILL_COUNTING, read_numbers},
    {"normal", 2, 3, FILL_NORMAL, read_numbers},
    {"kernel", 1, SIZE_MAX, FILL_KERNEL, read_kernel},
    {"file", 0, SIZE_MAX, FILL_FILE, read_file},
    {"border", 2, 5, FILL_NONE, read_border},
};

static const struct fill_word *find_fill(const char *name)
{
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
        if (strcmp(fills[i].name, name) == 0)
            return &fills[i];
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): a border in a border is refused */
static void read_fill(struct loader *loader, const char *text, const struct place *at,
                      struct fill *fill)
{
    char *name = loader_copy(loader, text);
    struct fill_text parts = {.at = at};
    char *inner;
    bool call = split_call(name, &inner);
    const struct fill_word *word = call ? find_fill(name) : NULL;
    fill->line = at->line;
    if (!call)
        loader_fail(loader, at->line, "fill '%s' is not of the form constant(0)", text);
    else if (word == NULL)
        loader_fail(loader, at->line,
                    "unknown fill '%s'; expected constant, uniform, normal, integers, "
                    "counting, kernel, file or border",
                    name);
    if (loader_failed(loader) || word == NULL)
        return;
    parts.inner = inner;
    parts.count = loader_split(loader, inner, ',', &parts.parts);
    fill->kind = word->kind;
    if (parts.count < word->least || parts.count > word->most)
        loader_fail(loader, at->line, "wrong number of arguments to fill '%s'", name);
    else
        word->read(loader, &parts, fill);
}

/* A kernel that fills may read only what is filled before it, in the order of the file. */
static void check_fill_kernel(struct loader *loader, const struct buffer *buffer)
{
    const struct template *template = loader->template;
    const struct launch *kernel = buffer->fill.kernel;
    loader_refuse_names(loader, kernel, true);
    loader_check_helper(loader, kernel, "fill");
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *other = &template->buffers[i];
        bool filled =
            other <= buffer && (other->access == ACCESS_READ || other->access == ACCESS_READ_WRITE);
        if (!filled && launch_uses_buffer(kernel, other->name))
            loader_fail(loader, buffer->fill.line,
                        "buffer '%s' is not filled before this one; a kernel that "
                        "fills can read buffers with a fill that are above it",
                        other->name);
    }
}

/* The grid and block of fill = kernel(...), which no other fill has. */
static void read_fill_kernel(struct loader *loader, const char *section, struct buffer *buffer)
{
    static const char *const keys[] = {"grid", "block", "shared_bytes"};
    struct launch *kernel = buffer->fill.kernel;
    for (size_t i = 0; i < 3 && kernel == NULL; i++) {
        const struct ini_entry *entry = loader_get(loader, section, keys[i]);
        if (entry != NULL)
            loader_fail(loader, entry->line, "'%s' is for fill = kernel(...) alone", keys[i]);
    }
    if (kernel == NULL)
        return;
    if (buffer->access == ACCESS_SCRATCH)
        loader_fail(loader, buffer->fill.line,
                    "scratch buffer '%s' cannot have a fill of the source; fill it with a launch",
                    buffer->name);
    kernel->name = buffer->name;
    kernel->line = buffer->fill.line;
    loader_read_geometry(loader, section, &loader->base, kernel);
    kernel->lines.entry = kernel->lines.arguments = buffer->fill.line;
    check_fill_kernel(loader, buffer);
}

/* --- buffers --- */

/* That `type` is an element type, or a parameter or problem word that names one. */
static void check_type(struct loader *loader, const char *type, int line)
{
    if (element_from_name(type, strlen(type)) >= 0)
        return;
    const struct parameter *word = template_value(loader->template, type);
    if (word == NULL) {
        struct names names = {0};
        names_add_all(&names, element_names());
        names_add(&names, "a type of the source's with element_bytes");
        loader_fail_unknown(loader, line, "element type", type, names.items);
        free(names.items);
        return;
    }
    for (size_t i = 0; i < word->word_count; i++)
        if (element_from_name(word->words[i], strlen(word->words[i])) < 0)
            loader_fail(loader, line, "word '%s' of the type's parameter is not an element type",
                        word->words[i]);
    if (word->word_count == 0)
        loader_fail(loader, line, "'%s' holds numbers, not types", type);
}

/* An element type; a vector type, which is so many of one; or a type of the source's, which is so many bytes. */
static void read_buffer_type(struct loader *loader, const char *section,
                             const struct ini_entry *entry, struct buffer *buffer)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789:<>, ";
    enum { MOST = 1 << 20 };
    const struct ini_entry *bytes = loader_get(loader, section, "element_bytes");
    const char *name = entry->value;
    int vector = element_of_vector(name, &buffer->components);
    buffer->type = vector >= 0 ? element_name((enum element_type)vector) : name;
    if (vector < 0)
        buffer->components = 1;
    if (bytes == NULL) {
        check_type(loader, buffer->type, entry->line);
        return;
    }
    char *end;
    unsigned long count = strtoul(bytes->value, &end, 10);
    if (!isdigit((unsigned char)bytes->value[0]) || *end != '\0' || count == 0 || count > MOST)
        loader_fail(loader, bytes->line, "element_bytes '%s' is not a number of bytes, 1 to %d",
                    bytes->value, MOST);
    if (vector >= 0 || element_from_name(name, strlen(name)) >= 0 ||
        template_value(loader->template, name) != NULL || name[strspn(name, letters)] != '\0')
        loader_fail(loader, bytes->line,
                    "element_bytes is for a type of the source's, such as block_q4_0; '%s' is none",
                    name);
    buffer->own_type = name;
    buffer->type = element_name(ELEMENT_UINT8);
    buffer->components = count;
}

static void read_access(struct loader *loader, const struct ini_entry *entry, struct buffer *buffer)
{
    static const char *const accesses[] = {[ACCESS_READ] = "read",
                                           [ACCESS_WRITE] = "write",
                                           [ACCESS_READ_WRITE] = "read_write",
                                           [ACCESS_SCRATCH] = "scratch",
                                           NULL};
    int access = names_index(accesses, entry->value);
    if (access < 0)
        loader_fail_unknown(loader, entry->line, "access", entry->value, accesses);
    else
        buffer->access = (enum buffer_access)access;
}

static void read_symbol(struct loader *loader, const char *section, struct buffer *buffer)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const struct ini_entry *entry = loader_get(loader, section, "symbol");
    if (entry == NULL)
        return;
    buffer->symbol = entry->value;
    if (buffer->symbol[strspn(buffer->symbol, letters)] != '\0' || buffer->symbol[0] == '\0')
        loader_fail(loader, entry->line,
                    "symbol '%s' is not the name of a variable at namespace scope", buffer->symbol);
    if (buffer->access == ACCESS_SCRATCH)
        loader_fail(loader, entry->line,
                    "buffer '%s' is a variable that only the kernel uses: it needs no "
                    "section, since it begins anew with every load of the code",
                    buffer->name);
}

void loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer)
{
    const struct ini_entry *type = loader_need(loader, section, buffer->line, "type");
    const struct ini_entry *length = loader_need(loader, section, buffer->line, "length");
    const struct ini_entry *access = loader_need(loader, section, buffer->line, "access");
    buffer->fill = (struct fill){.kind = FILL_NONE, .buffer = buffer->name};
    if (access == NULL)
        return;
    buffer->components = 1;
    read_access(loader, access, buffer);
    buffer->unchecked = loader_yes(loader, section, "unchecked");
    read_buffer_type(loader, section, type, buffer);
    read_symbol(loader, section, buffer);
    const struct names *known = buffer->access == ACCESS_SCRATCH ? &loader->grids : &loader->base;
    buffer->length = loader_expression(loader, length->value, &(struct place){length->line, known});
    const struct ini_entry *fill = loader_get(loader, section, "fill");
    if (fill == NULL && buffer->access != ACCESS_WRITE && buffer->access != ACCESS_SCRATCH)
        loader_fail(loader, buffer->line, "buffer '%s' needs a fill, such as uniform(-1, 1)",
                    buffer->name);
    if (fill != NULL && buffer->access == ACCESS_WRITE)
        loader_fail(loader, fill->line,
                    "buffer '%s' is an output, which is poisoned; use read_write for one that "
                    "starts with a fill",
                    buffer->name);
    if (fill != NULL)
        read_fill(loader, fill->value, &(struct place){fill->line, known}, &buffer->fill);
    if (!loader_failed(loader))
        read_fill_kernel(loader, section, buffer);
}

/* The kernel reaches a variable by its name. A reference gets the problem's own copy. */
void loader_check_symbols(struct loader *loader)
{
    const struct template *template = loader->template;
    for (size_t i = 0; i <= template->launch_count; i++) {
        const struct launch *launch =
            i < template->launch_count ? &template->launches[i] : &template->constants;
        for (size_t j = 0; j < template->buffer_count; j++)
            if (template->buffers[j].symbol != NULL &&
                launch_uses_buffer(launch, template->buffers[j].name))
                loader_fail(loader, launch->line,
                            "buffer '%s' is a variable of the source, which the kernel "
                            "reaches by its name; it cannot be an argument",
                            template->buffers[j].name);
    }
}

/* --- expected results --- */

/* The index of the buffer that a section is about; 0 after an error. */
static size_t find_buffer(struct loader *loader, const char *name, int line)
{
    const struct template *template = loader->template;
    struct names names = {0};
    size_t index = template_buffer(template, name);
    if (index < template->buffer_count)
        return index;
    for (size_t i = 0; i < template->buffer_count; i++)
        names_add(&names, template->buffers[i].name);
    if (names.items == NULL)
        loader_fail(loader, line, "unknown buffer '%s': the template has no buffers", name);
    loader_fail_unknown(loader, line, "buffer", name, names.items);
    free(names.items);
    return 0;
}

/* "absolute(e)", "relative(e)" or "close(absolute, relative)"; and "mismatches(share)". False if it is neither. */
static bool read_tolerances(struct loader *loader, const char *text, const struct place *at,
                            struct expectation *expectation)
{
    const struct {
        const char *name;
        struct expression **values[2];
    } * kind, kinds[] = {{"absolute", {&expectation->absolute}},
                         {"relative", {&expectation->relative}},
                         {"close", {&expectation->absolute, &expectation->relative}},
                         {"mismatches", {&expectation->mismatches}}};
    char *name = loader_copy(loader, text);
    char *inner;
    char **texts;
    if (!split_call(name, &inner))
        return false;
    size_t count = loader_split(loader, inner, ',', &texts);
    for (kind = kinds; kind < kinds + 4 && strcmp(kind->name, name) != 0;)
        kind++;
    if (kind == kinds + 4 || count != (kind->values[1] != NULL ? 2 : 1))
        return false;
    for (size_t i = 0; i < count; i++)
        *kind->values[i] = loader_expression(loader, texts[i], at);
    return true;
}

/* "exact" or tolerances, perhaps with an allowed share of mismatches; or "unordered". */
static void read_comparison(struct loader *loader, const struct ini_entry *entry,
                            struct expectation *expectation)
{
    const struct place at = {entry->line, &loader->base};
    char **parts;
    size_t count = loader_split(loader, entry->value, ',', &parts);
    bool known = count == 1 || count == 2;
    if (known && strcmp(parts[0], "exact") == 0) {
        expectation->compare = COMPARE_EXACT;
    } else if (count == 1 && strcmp(parts[0], "unordered") == 0) {
        expectation->compare = COMPARE_UNORDERED;
    } else if (known) {
        expectation->compare = COMPARE_CLOSE;
        known =
            read_tolerances(loader, parts[0], &at, expectation) && expectation->mismatches == NULL;
    }
    if (known && count == 2)
        known =
            read_tolerances(loader, parts[1], &at, expectation) && expectation->mismatches != NULL;
    if (!known)
        loader_fail(loader, entry->line,
                    "compare '%s' is unknown; expected exact, absolute(e), relative(e) or "
                    "close(absolute, relative), each perhaps with `, mismatches(share)`; or "
                    "unordered",
                    entry->value);
}

/* With a verifier of the same buffer, which compares, it may be missing. */
static void read_compare(struct loader *loader, const char *section,
                         struct expectation *expectation)
{
    char *verifier = alloc_format("verify%s", strchr(section, '.'));
    bool verified = loader_get(loader, verifier, "entry") != NULL;
    free(verifier);
    const struct ini_entry *entry =
        verified ? loader_get(loader, section, "compare")
                 : loader_need(loader, section, expectation->line, "compare");
    if (entry == NULL)
        expectation->compare = COMPARE_NONE;
    else
        read_comparison(loader, entry, expectation);
    expectation->when = loader_expression_of(loader, section, "when", &loader->base);
    const struct buffer *buffer = &loader->template->buffers[expectation->buffer];
    if (!loader_failed(loader) && buffer->own_type != NULL && entry != NULL &&
        expectation->compare != COMPARE_EXACT)
        loader_fail(loader, entry->line,
                    "elements of type '%s' are compared as bytes: exact, or by a [verify] section",
                    buffer->own_type);
    if (!loader_failed(loader) && buffer->own_type != NULL && expectation->mismatches != NULL)
        loader_fail(loader, entry->line,
                    "mismatches would count bytes of type '%s', not elements: leave it out, or "
                    "count wrong elements in a [verify] section",
                    buffer->own_type);
    expectation->nan_equal = loader_yes(loader, section, "nan_equal");
    if (expectation->nan_equal && expectation->compare == COMPARE_UNORDERED)
        loader_fail(loader, loader_get(loader, section, "nan_equal")->line,
                    "nan_equal has no meaning with 'unordered', which compares bits");
}

void loader_read_expectation(struct loader *loader, const char *section,
                             struct expectation *expectation)
{
    struct launch *launch = &expectation->reference;
    struct fill *fill = &expectation->fill;
    expectation->buffer = find_buffer(loader, strchr(section, '.') + 1, expectation->line);
    const struct ini_entry *reference =
        loader->template->reference_count > 0
            ? loader_get(loader, section, "reference")
            : loader_need(loader, section, expectation->line, "reference");
    read_compare(loader, section, expectation);
    const struct ini_entry *type = loader_get(loader, section, "reference_type");
    if (type != NULL) {
        expectation->reference_type = type->value;
        check_type(loader, type->value, type->line);
    }
    if (loader_failed(loader))
        return;
    fill->buffer = loader->template->buffers[expectation->buffer].name;
    if (reference == NULL) {
        expectation->kind = EXPECT_LAUNCHES;
        return;
    }
    if (reference->value[strcspn(reference->value, "(<:")] == '(') {
        read_fill(loader, reference->value, &(struct place){reference->line, &loader->base}, fill);
        bool plain = fill->kind == FILL_CONSTANT || fill->kind == FILL_FILE;
        if (!plain || fill->border != NULL)
            loader_fail(loader, reference->line,
                        "reference '%s' is invalid; expected an entry, constant(x) or file(x.npy)",
                        reference->value);
        expectation->kind = fill->kind == FILL_FILE ? EXPECT_FILE : EXPECT_CONSTANT;
        return;
    }
    expectation->kind = EXPECT_REFERENCE;
    launch->name = "reference";
    launch->reference = (size_t)(expectation - loader->template->expectations);
    launch->entry = reference->value;
    launch->line = expectation->line;
    loader_read_geometry(loader, section, &loader->base, launch);
    launch->lines.entry = reference->line;
    loader_check_helper(loader, launch, "reference");
    loader_refuse_names(loader, launch, false);
}

/* --- verifiers --- */

void loader_read_verifier(struct loader *loader, const char *section, struct verifier *verifier)
{
    struct launch *launch = &verifier->launch;
    launch->name = strchr(section, '.') + 1;
    launch->counts = true;
    launch->line = verifier->line;
    verifier->buffer = find_buffer(loader, launch->name, verifier->line);
    const struct ini_entry *entry = loader_need(loader, section, verifier->line, "entry");
    if (entry == NULL)
        return;
    launch->entry = entry->value;
    loader_read_geometry(loader, section, &loader->base, launch);
    loader_check_helper(loader, launch, "verifier");
    if (!launch_uses_buffer(launch, "wrong"))
        loader_fail(loader, launch->lines.arguments,
                    "verifier '%s' needs the argument `wrong`, a pointer to the number of "
                    "wrong elements",
                    launch->entry);
}

void loader_link_verifiers(struct loader *loader)
{
    const struct template *template = loader->template;
    for (size_t i = 0; i < template->verifier_count; i++) {
        struct verifier *verifier = &template->verifiers[i];
        if (!launch_uses_buffer(&verifier->launch, "reference"))
            continue;
        size_t index = 0;
        while (index < template->expectation_count &&
               template->expectations[index].buffer != verifier->buffer)
            index++;
        verifier->launch.reference = index;
        if (index == template->expectation_count)
            loader_fail(loader, verifier->launch.lines.arguments,
                        "`reference` is the expected result of [expect.%s], which the "
                        "template does not have",
                        verifier->launch.name);
    }
}

/* The line of the section that judges results in the buffer; 0 if none does. */
static int judge_line(const struct template *template, size_t buffer)
{
    int line = 0;
    for (size_t i = 0; i < template->expectation_count; i++)
        if (template->expectations[i].buffer == buffer)
            line = template->expectations[i].line;
    for (size_t i = 0; i < template->verifier_count; i++)
        if (template->verifiers[i].buffer == buffer)
            line = template->verifiers[i].line;
    return line;
}

/* Helpers run outside of any variant, so they have none of its scratch buffers; [reference.NAME] sections have their
 * own. */
static void check_scratch(struct loader *loader, const struct buffer *buffer)
{
    const struct template *template = loader->template;
    struct helper helper;
    for (size_t i = 0; template_helper(template, i, &helper); i++) {
        const struct launch *launch = helper.launches;
        if (!helper_uses_buffer(&helper, buffer->name))
            continue;
        if (launch != template->references)
            loader_fail(loader, launch->lines.arguments,
                        launch->counts
                            ? "a verifier cannot use scratch buffer '%s'"
                            : "a reference cannot use scratch buffer '%s'; one that is written as "
                              "[reference.NAME] sections has its own",
                        buffer->name);
        for (size_t j = 0; j < 2 * template->launch_count; j++)
            if (launch == template->references &&
                expression_uses(buffer->length, loader->made.items[j]))
                loader_fail(loader, buffer->line,
                            "a reference uses scratch buffer '%s', whose length names '%s', which "
                            "only launches have; give the reference a scratch buffer for itself",
                            buffer->name, loader->made.items[j]);
    }
}

/* That the results of [reference.NAME] sections and the expectations without a `reference` are the same. */
static void check_references(struct loader *loader)
{
    const struct template *template = loader->template;
    const struct helper helper = {template->references, template->reference_count};
    for (size_t i = 0; i < template->buffer_count && helper.count > 0; i++) {
        const struct expectation *filled = NULL;
        const char *buffer = template->buffers[i].name;
        char *name = alloc_format(EXPECTED_PREFIX "%s", buffer);
        for (size_t j = 0; j < template->expectation_count; j++)
            if (template->expectations[j].buffer == i &&
                template->expectations[j].kind == EXPECT_LAUNCHES)
                filled = &template->expectations[j];
        for (size_t j = 0; j < helper.count && filled == NULL; j++)
            if (launch_uses_buffer(&helper.launches[j], name))
                loader_fail(loader, helper.launches[j].lines.arguments,
                            "the template has no [expect.%s] without a `reference`, so that "
                            "nothing is compared with expected(%s)",
                            buffer, buffer);
        if (filled != NULL && !helper_uses_buffer(&helper, name))
            loader_fail(loader, filled->line,
                        "[expect.%s] has no `reference`, and no [reference.NAME] has expected(%s) "
                        "among its arguments",
                        buffer, buffer);
        free(name);
    }
    for (size_t i = 0; i < template->expectation_count && helper.count > 0; i++)
        if (template->expectations[i].kind == EXPECT_LAUNCHES)
            return;
    if (helper.count > 0)
        loader_fail(loader, helper.launches[0].line,
                    "reference '%s' has no results: it needs an [expect.NAME] without a "
                    "`reference`, and expected(NAME) among the arguments",
                    helper.launches[0].name);
}

void loader_check_results(struct loader *loader)
{
    const struct template *template = loader->template;
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *buffer = &template->buffers[i];
        bool written = buffer->access == ACCESS_WRITE || buffer->access == ACCESS_READ_WRITE;
        bool scratch = buffer->access == ACCESS_SCRATCH;
        int judge = judge_line(template, i);
        if (scratch && judge != 0)
            loader_fail(loader, judge,
                        "scratch buffer '%s' has no expected result; make it write or read_write",
                        buffer->name);
        if (written && judge == 0 && !buffer->unchecked)
            loader_fail(loader, buffer->line,
                        "nothing checks what is written to buffer '%s'; add an [expect] or a "
                        "[verify] section for it, or `unchecked = yes` if any contents are right",
                        buffer->name);
        if (buffer->unchecked && judge != 0)
            loader_fail(loader, buffer->line,
                        "buffer '%s' is unchecked, but has an expected result or a verifier",
                        buffer->name);
        if (buffer->unchecked && !written)
            loader_fail(loader, buffer->line, "buffer '%s' is not an output; leave out `unchecked`",
                        buffer->name);
        if (scratch)
            check_scratch(loader, buffer);
    }
    check_references(loader);
}
