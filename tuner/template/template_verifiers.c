#include "template/template_verifiers.h"

#include "base/alloc.h"
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

/* It runs outside of any variant, so it has none of a variant's scratch buffers and textures. */
static int check_arguments(struct loader *loader, const struct launch *launch)
{
    const struct template *template = loader->template;
    int line = launch->lines.arguments;
    int status = loader_check_helper_arguments(loader, launch, "verifier");
    if (status != 0)
        return status;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH &&
            takes(launch, template->buffers[i].name))
            return loader_fail(loader, line, "a verifier cannot use scratch buffer '%s'",
                               template->buffers[i].name);
    if (!takes(launch, "wrong"))
        return loader_fail(loader, line,
                           "verifier '%s' needs the argument `wrong`, a pointer to the number of "
                           "wrong elements",
                           launch->entry);
    return 0;
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
