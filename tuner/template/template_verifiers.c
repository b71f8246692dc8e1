#include "template/template_verifiers.h"

#include "base/alloc.h"
#include "template/helpers.h"
#include "template/template_arguments.h"
#include "template/template_expectations.h"
#include "template/template_launches.h"

#include <string.h>

static bool takes(const struct launch *launch, const char *name)
{
    for (size_t i = 0; i < launch->argument_count; i++)
        if (argument_uses_buffer(&launch->arguments[i], name))
            return true;
    return false;
}

static int check_arguments(struct loader *loader, const struct launch *launch)
{
    int status = loader_check_helper_arguments(loader, launch, "verifier");
    if (status == 0 && !takes(launch, "wrong"))
        status = loader_fail(loader, launch->lines.arguments,
                             "verifier '%s' needs the argument `wrong`, a pointer to the number of "
                             "wrong elements",
                             launch->entry);
    return status;
}

int loader_read_verifier(struct loader *loader, const char *section, struct verifier *verifier)
{
    struct launch *launch = &verifier->launch;
    struct ini_entry *entry;
    launch->name = strchr(section, '.') + 1;
    launch->counts = true;
    launch->line = verifier->line;
    int status = loader_find_buffer(loader, launch->name, verifier->line, &verifier->buffer);
    if (status == 0)
        status = loader_need(loader, section, verifier->line, "entry", &entry);
    if (status != 0)
        return status;
    launch->entry = alloc_string(entry->value);
    status = loader_read_geometry(loader, section, &loader->base, launch);
    return status != 0 ? status : check_arguments(loader, launch);
}

int loader_link_verifiers(struct loader *loader)
{
    const struct template *template = loader->template;
    for (size_t i = 0; i < template->verifier_count; i++) {
        struct verifier *verifier = &template->verifiers[i];
        if (!takes(&verifier->launch, "reference"))
            continue;
        for (size_t j = 0; j < template->expectation_count; j++)
            if (template->expectations[j].buffer == verifier->buffer)
                verifier->expectation = j;
        if (verifier->expectation == SIZE_MAX)
            return loader_fail(loader, verifier->launch.lines.arguments,
                               "`reference` is the expected result of [expect.%s], which the "
                               "template does not have",
                               verifier->launch.name);
    }
    return 0;
}

/* Whether results in the buffer are judged, which scratch buffers cannot be. */
static int find_judge(const struct loader *loader, size_t buffer, bool *judged)
{
    const struct template *template = loader->template;
    int line = 0;
    *judged = false;
    for (size_t i = 0; i < template->expectation_count; i++)
        if (template->expectations[i].buffer == buffer)
            line = template->expectations[i].line;
    for (size_t i = 0; i < template->verifier_count; i++)
        if (template->verifiers[i].buffer == buffer)
            line = template->verifiers[i].line;
    *judged = line != 0;
    if (line == 0 || template->buffers[buffer].access != ACCESS_SCRATCH)
        return 0;
    return loader_fail(loader, line,
                       "scratch buffer '%s' has no expected result; make it write or read_write",
                       template->buffers[buffer].name);
}

static int check_buffer(const struct loader *loader, size_t index)
{
    const struct template *template = loader->template;
    const struct buffer *buffer = &template->buffers[index];
    bool written = buffer->access == ACCESS_WRITE || buffer->access == ACCESS_READ_WRITE;
    bool judged;
    int status = find_judge(loader, index, &judged);
    if (status == 0 && written && !judged && !buffer->unchecked)
        status = loader_fail(loader, buffer->line,
                             "nothing checks what is written to buffer '%s'; add an [expect] or a "
                             "[verify] section for it, or `unchecked = yes` if any contents are "
                             "right",
                             buffer->name);
    if (status == 0 && buffer->unchecked && (judged || !written))
        status = loader_fail(loader, buffer->line,
                             judged ? "buffer '%s' is unchecked, but has an expected result or a "
                                      "verifier"
                                    : "buffer '%s' is not an output; leave out `unchecked`",
                             buffer->name);
    /* helpers run outside of any variant, so they have none of a variant's scratch buffers */
    struct helper helper;
    for (size_t i = 0;
         status == 0 && buffer->access == ACCESS_SCRATCH && template_helper(template, i, &helper);
         i++)
        if (takes(helper.launch, buffer->name))
            status =
                loader_fail(loader, helper.launch->lines.arguments,
                            helper.launch->counts ? "a verifier cannot use scratch buffer '%s'"
                                                  : "a reference cannot use scratch buffer '%s'",
                            buffer->name);
    return status;
}

int loader_check_results(const struct loader *loader)
{
    int status = 0;
    for (size_t i = 0; i < loader->template->buffer_count && status == 0; i++)
        status = check_buffer(loader, i);
    return status;
}
