#include "template/template_buffers.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/suggestion.h"
#include "template/template_arguments.h"
#include "template/template_fills.h"
#include "template/template_launches.h"

#include <stdlib.h>
#include <string.h>

int loader_check_type(const struct loader *loader, const char *type, int line)
{
    if (element_from_name(type, strlen(type)) >= 0)
        return 0;
    const struct parameter *word = template_problem_value(loader->template, type);
    if (word == NULL)
        word = template_parameter(loader->template, type);
    if (word == NULL)
        return suggestion_unknown(loader->template->path, line, "element type", type,
                                  element_names(), loader->error);
    for (size_t i = 0; i < word->word_count; i++)
        if (element_from_name(word->words[i], strlen(word->words[i])) < 0)
            return loader_fail(loader, line,
                               "word '%s' of the type's parameter is not an element type",
                               word->words[i]);
    return word->word_count > 0 ? 0
                                : loader_fail(loader, line, "'%s' holds numbers, not types", type);
}

static int read_access(struct loader *loader, const char *section, struct buffer *buffer)
{
    static const char *const accesses[] = {[ACCESS_READ] = "read",
                                           [ACCESS_WRITE] = "write",
                                           [ACCESS_READ_WRITE] = "read_write",
                                           [ACCESS_SCRATCH] = "scratch",
                                           NULL};
    struct ini_entry *entry;
    int status = loader_need(loader, section, buffer->line, "access", &entry);
    if (status != 0)
        return status;
    for (int i = 0; accesses[i] != NULL; i++) {
        if (strcmp(accesses[i], entry->value) == 0) {
            buffer->access = (enum buffer_access)i;
            return 0;
        }
    }
    return suggestion_unknown(loader->template->path, entry->line, "access", entry->value, accesses,
                              loader->error);
}

static int read_symbol(struct loader *loader, const char *section, struct buffer *buffer)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const struct ini_entry *entry = loader_get(loader, section, "symbol");
    if (entry == NULL)
        return 0;
    buffer->symbol = entry->value;
    if (buffer->symbol[strspn(buffer->symbol, letters)] != '\0' || buffer->symbol[0] == '\0')
        return loader_fail(loader, entry->line,
                           "symbol '%s' is not the name of a variable at namespace scope",
                           buffer->symbol);
    if (buffer->access == ACCESS_SCRATCH)
        return loader_fail(loader, entry->line,
                           "buffer '%s' is a variable that only the kernel uses: it needs no "
                           "section, since it begins anew with every load of the code",
                           buffer->name);
    return 0;
}

/* The kernel reaches a variable by its name. A reference gets the problem's own copy. */
int loader_check_symbols(const struct loader *loader)
{
    const struct template *template = loader->template;
    for (size_t i = 0; i < template->launch_count; i++)
        for (size_t j = 0; j < template->launches[i].argument_count; j++)
            for (size_t k = 0; k < template->buffer_count; k++)
                if (template->buffers[k].symbol != NULL &&
                    argument_uses_buffer(&template->launches[i].arguments[j],
                                         template->buffers[k].name))
                    return loader_fail(loader, template->launches[i].line,
                                       "buffer '%s' is a variable of the source, which the kernel "
                                       "reaches by its name; it cannot be an argument",
                                       template->buffers[k].name);
    return 0;
}

/* A kernel that fills may read only what is filled before it, in the order of the file. */
static int check_fill_arguments(struct loader *loader, const struct buffer *buffer)
{
    const struct template *template = loader->template;
    const struct launch *kernel = buffer->fill.kernel;
    int line = buffer->fill.line;
    int status =
        loader_refuse_name(loader, kernel, "reference", "the reference of an [expect] section");
    if (status == 0 && template->verifier_count > 0)
        status = loader_refuse_name(loader, kernel, "wrong", "a [verify] section");
    if (status == 0)
        status = loader_check_helper_arguments(loader, kernel, "fill");
    for (size_t i = 0; i < kernel->argument_count && status == 0; i++) {
        const struct argument *argument = &kernel->arguments[i];
        for (size_t j = 0; j < template->buffer_count && status == 0; j++) {
            const struct buffer *other = &template->buffers[j];
            bool filled = other <= buffer &&
                          (other->access == ACCESS_READ || other->access == ACCESS_READ_WRITE);
            if (!filled && argument_uses_buffer(argument, other->name))
                status = loader_fail(loader, line,
                                     "buffer '%s' is not filled before this one; a kernel that "
                                     "fills can read buffers with a fill that are above it",
                                     other->name);
        }
    }
    return status;
}

/* The grid and block of fill = kernel(...), which no other fill has. */
static int read_fill_kernel(struct loader *loader, const char *section, struct buffer *buffer)
{
    static const char *const keys[] = {"grid", "block", "shared_bytes"};
    struct launch *kernel = buffer->fill.kernel;
    for (size_t i = 0; i < 3 && kernel == NULL; i++) {
        const struct ini_entry *entry = loader_get(loader, section, keys[i]);
        if (entry != NULL)
            return loader_fail(loader, entry->line, "'%s' is for fill = kernel(...) alone",
                               keys[i]);
    }
    if (kernel == NULL)
        return 0;
    if (buffer->access == ACCESS_SCRATCH)
        return loader_fail(loader, buffer->fill.line,
                           "scratch buffer '%s' cannot have a fill of the source; fill it with a "
                           "launch",
                           buffer->name);
    kernel->name = buffer->name;
    kernel->line = buffer->fill.line;
    int status = loader_read_geometry(loader, section, &loader->base, kernel);
    kernel->lines.entry = kernel->lines.arguments = buffer->fill.line;
    return status != 0 ? status : check_fill_arguments(loader, buffer);
}

int loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer)
{
    struct ini_entry *type;
    struct ini_entry *length;
    int status = loader_need(loader, section, buffer->line, "type", &type);
    if (status == 0)
        status = loader_need(loader, section, buffer->line, "length", &length);
    if (status == 0)
        status = read_access(loader, section, buffer);
    if (status == 0)
        status = loader_read_yes(loader, section, "unchecked", &buffer->unchecked);
    bool scratch = buffer->access == ACCESS_SCRATCH;
    if (status == 0)
        status = loader_check_type(loader, type->value, type->line);
    if (status != 0)
        return status;
    buffer->type = type->value;
    status = read_symbol(loader, section, buffer);
    if (status != 0)
        return status;
    const struct names *known = scratch ? &loader->grids : &loader->base;
    status = loader_read_expression(loader, length->value, length->line, known, &buffer->length);
    const struct ini_entry *fill = loader_get(loader, section, "fill");
    buffer->fill.kind = FILL_NONE;
    buffer->fill.buffer = buffer->name;
    bool takes_fill = buffer->access != ACCESS_WRITE;
    bool needs_fill = buffer->access == ACCESS_READ || buffer->access == ACCESS_READ_WRITE;
    if (status == 0 && fill == NULL && needs_fill)
        status = loader_fail(loader, buffer->line,
                             "buffer '%s' needs a fill, such as uniform(-1, 1)", buffer->name);
    if (status == 0 && fill != NULL && !takes_fill)
        status =
            loader_fail(loader, fill->line,
                        "buffer '%s' is an output, which is poisoned; use read_write for one that "
                        "starts with a fill",
                        buffer->name);
    if (status == 0 && fill != NULL)
        status = loader_read_fill(loader, fill->value, fill->line, known, &buffer->fill);
    return status != 0 ? status : read_fill_kernel(loader, section, buffer);
}
