#include "command/bundle.h"

#include "base/alloc.h"
#include "base/read_file.h"
#include "base/write_file.h"
#include "template/template_load.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path of `file` relative to `folder`, both absolute; NULL if it is outside. */
static const char *inside(const char *folder, const char *file)
{
    size_t length = strlen(folder);
    return strncmp(folder, file, length) == 0 && file[length] == '/' ? file + length + 1 : NULL;
}

static int copy_file(struct bundle *bundle, const char *folder, const char *file,
                     struct error *error)
{
    const char *name = inside(folder, file);
    char *text = NULL;
    size_t length = 0;
    if (name == NULL)
        return error_set_at(error, ERROR_CONFIG, file, 0,
                            "the file is outside its template's folder '%s', so it cannot be "
                            "bundled; move it there",
                            folder);
    char *path = alloc_format("%s/templates/%s", bundle->work, name);
    int status = read_file(file, &text, &length, error);
    if (status == 0) {
        bundle_note_file(bundle, path);
        status = write_file_bytes(path, text, length, error);
    }
    free(text);
    free(path);
    return status;
}

/* The copy must have the same hash, so that the template that was tuned is the one that ships. */
static int check_copy(struct bundle *bundle, const struct template *original, struct error *error)
{
    struct template copy;
    char *path = alloc_format("%s/templates/%s.ini", bundle->work, original->name);
    int status = template_load(&copy, path, error);
    if (status == 0) {
        if (strcmp(copy.hash, original->hash) != 0)
            status =
                error_set_at(error, ERROR_CONFIG, path, 0,
                             "the copied template differs from the tuned one, because an #include "
                             "finds another file");
        template_release(&copy);
    }
    free(path);
    return status;
}

/* Copies the files that fill scratch buffers; the application provides the inputs. */
static int copy_scratch_file(struct bundle *bundle, const char *folder, const struct buffer *buffer,
                             struct error *error)
{
    if (buffer->access != ACCESS_SCRATCH || buffer->fill.kind != FILL_FILE)
        return 0;
    char *file = realpath(buffer->fill.path, NULL);
    int status = file == NULL
                     ? error_set_errno(error, ERROR_CONFIG, "cannot find '%s'", buffer->fill.path)
                     : copy_file(bundle, folder, file, error);
    free(file);
    return status;
}

static int copy_template(struct bundle *bundle, const struct template *template,
                         struct error *error)
{
    char folder[PATH_MAX];
    char *ini = realpath(template->path, NULL);
    int status = 0;
    if (ini == NULL)
        return error_set_errno(error, ERROR_CONFIG, "cannot find '%s'", template->path);
    (void)snprintf(folder, sizeof folder, "%s", ini);
    *strrchr(folder, '/') = '\0'; /* an absolute path has one */
    status = copy_file(bundle, folder, ini, error);
    if (status == 0)
        status = copy_file(bundle, folder, template->source.path, error);
    for (size_t i = 0; i < template->source.header_count && status == 0; i++)
        status = copy_file(bundle, folder, template->source.headers[i], error);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        status = copy_scratch_file(bundle, folder, &template->buffers[i], error);
    free(ini);
    return status != 0 ? status : check_copy(bundle, template, error);
}

const struct template *bundle_take_template(struct bundle *bundle, const struct tuned_entry *entry,
                                            struct error *error)
{
    for (size_t i = 0; i < bundle->loaded_count; i++)
        if (strcmp(bundle->loaded[i].name, entry->template_name) == 0)
            return &bundle->loaded[i];
    char *path = build_find_template(bundle->templates, entry->template_name, error);
    if (path == NULL)
        return NULL;
    struct template template;
    int status = template_load(&template, path, error);
    free(path);
    if (status != 0)
        return NULL;
    *ARRAY_APPEND(bundle->loaded, bundle->loaded_count) = template;
    return copy_template(bundle, &template, error) == 0 ? &bundle->loaded[bundle->loaded_count - 1]
                                                        : NULL;
}
