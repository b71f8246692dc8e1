#include "template/template_expectations.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/template_arguments.h"
#include "template/template_buffers.h"
#include "template/template_fills.h"
#include "template/template_launches.h"
#include "template/value_list.h"

#include <stdlib.h>
#include <string.h>

/* "absolute(e)", "relative(e)" or "close(absolute, relative)". */
static int read_tolerances(struct loader *loader, const struct ini_entry *entry,
                           struct expectation *expectation)
{
    char *copy = alloc_string(entry->value);
    char *inner = NULL;
    char **texts = NULL;
    bool call = split_call(copy, &inner);
    size_t count = call ? text_split(inner, ',', &texts) : 0;
    struct expression **kinds[2] = {NULL, NULL};
    if (call && strcmp(copy, "absolute") == 0 && count == 1)
        kinds[0] = &expectation->absolute;
    else if (call && strcmp(copy, "relative") == 0 && count == 1)
        kinds[0] = &expectation->relative;
    else if (call && strcmp(copy, "close") == 0 && count == 2) {
        kinds[0] = &expectation->absolute;
        kinds[1] = &expectation->relative;
    }
    int status = kinds[0] != NULL
                     ? 0
                     : loader_fail(loader, entry->line,
                                   "compare '%s' is unknown; expected exact, absolute(e), "
                                   "relative(e), close(absolute, relative) or unordered",
                                   entry->value);
    for (size_t i = 0; i < 2 && kinds[i] != NULL && status == 0; i++)
        status = loader_read_expression(loader, texts[i], entry->line, &loader->base, kinds[i]);
    text_split_release(texts, count);
    free(copy);
    return status;
}

/* Whether the buffer of an [expect] section also has a [verify] section. */
static bool has_verifier(struct loader *loader, const char *section)
{
    char *verifier = alloc_format("verify%s", strchr(section, '.'));
    bool has = loader_get(loader, verifier, "entry") != NULL;
    free(verifier);
    return has;
}

static int read_compare(struct loader *loader, const char *section, struct expectation *expectation)
{
    struct ini_entry *entry;
    expectation->compare = COMPARE_NONE;
    if (has_verifier(loader, section) && loader_get(loader, section, "compare") == NULL)
        return 0;
    int status = loader_need(loader, section, expectation->line, "compare", &entry);
    if (status != 0)
        return status;
    if (strcmp(entry->value, "exact") == 0 || strcmp(entry->value, "unordered") == 0) {
        expectation->compare = entry->value[0] == 'e' ? COMPARE_EXACT : COMPARE_UNORDERED;
        return 0;
    }
    expectation->compare = COMPARE_CLOSE;
    return read_tolerances(loader, entry, expectation);
}

/* "yes": NaN is equal to NaN. */
static int read_nan_equal(struct loader *loader, const char *section,
                          struct expectation *expectation)
{
    int status = loader_read_yes(loader, section, "nan_equal", &expectation->nan_equal);
    if (status == 0 && expectation->nan_equal && expectation->compare == COMPARE_UNORDERED)
        status =
            loader_fail(loader, loader_get(loader, section, "nan_equal")->line,
                        "nan_equal has no meaning with '%s', which compares bits", "unordered");
    return status;
}

int loader_find_buffer(const struct loader *loader, const char *name, int line, size_t *index)
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
            ? loader_fail(loader, line, "unknown buffer '%s': the template has no buffers", name)
            : suggestion_unknown(loader->template->path, line, "buffer", name, names.items,
                                 loader->error);
    free(names.items);
    return status;
}

int loader_read_expectation(struct loader *loader, const char *section,
                            struct expectation *expectation)
{
    struct ini_entry *reference;
    int status = loader_find_buffer(loader, strchr(section, '.') + 1, expectation->line,
                                    &expectation->buffer);
    if (status == 0)
        status = loader_need(loader, section, expectation->line, "reference", &reference);
    if (status == 0)
        status = read_compare(loader, section, expectation);
    if (status == 0)
        status = read_nan_equal(loader, section, expectation);
    if (status != 0)
        return status;
    const struct ini_entry *type = loader_get(loader, section, "reference_type");
    if (type != NULL) {
        expectation->reference_type = type->value;
        status = loader_check_type(loader, type->value, type->line);
    }
    expectation->fill.buffer = loader->template->buffers[expectation->buffer].name;
    if (status == 0 && reference->value[strcspn(reference->value, "(<:")] == '(') {
        status = loader_read_fill(loader, reference->value, reference->line, &loader->base,
                                  &expectation->fill);
        bool plain = expectation->fill.kind == FILL_CONSTANT || expectation->fill.kind == FILL_FILE;
        if (status == 0 && (!plain || expectation->fill.border != NULL))
            status = loader_fail(
                loader, reference->line,
                "reference '%s' is invalid; expected an entry, constant(x) or file(x.npy)",
                reference->value);
        expectation->kind = expectation->fill.kind == FILL_FILE ? EXPECT_FILE : EXPECT_CONSTANT;
        return status;
    }
    expectation->kind = EXPECT_REFERENCE;
    expectation->reference.name = "reference";
    expectation->reference.entry = alloc_string(reference->value);
    expectation->reference.line = expectation->line;
    if (status == 0)
        status = loader_read_geometry(loader, section, &loader->base, &expectation->reference);
    expectation->reference.lines.entry = reference->line;
    if (status == 0)
        status = loader_check_helper_arguments(loader, &expectation->reference, "reference");
    if (status == 0 && loader->template->verifier_count > 0)
        status = loader_refuse_name(loader, &expectation->reference, "wrong", "a [verify] section");
    return status;
}
