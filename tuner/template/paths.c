#include "template/paths.h"

#include "base/alloc.h"
#include "template/installed.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* NVRTC's options that read or write files, and those that hand options to a further program. */
static const char *const file_options[] = {"--time",
                                           "-time",
                                           "--create-pch",
                                           "-create-pch",
                                           "--use-pch",
                                           "-use-pch",
                                           "--pch-dir",
                                           "-pch-dir",
                                           "--fdevice-time-trace",
                                           "-fdevice-time-trace",
                                           "--include-path",
                                           "-include-path",
                                           "-I",
                                           "--pre-include",
                                           "-include",
                                           "--ptxas-options",
                                           "-ptxas-options",
                                           "-Xptxas",
                                           NULL};

static bool is_folder(const char *path)
{
    struct stat information;
    return stat(path, &information) == 0 && S_ISDIR(information.st_mode);
}

static char *parent_of(const char *path)
{
    char *copy = alloc_string(path);
    char *parent = alloc_string(dirname(copy));
    free(copy);
    return parent;
}

/* The real path of `path`, or, where nothing is there yet, of the part that is, with the rest
 * behind it; a new string. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the path at most */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    if (real != NULL || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        return real != NULL ? real : alloc_string(path);
    char *folder = parent_of(path);
    char *real_folder = real_path(folder);
    const char *slash = strrchr(path, '/');
    real = alloc_format("%s/%s", real_folder, slash != NULL ? slash + 1 : path);
    free(real_folder);
    free(folder);
    return real;
}

/* The project that `file` belongs to; a new string. */
static char *project_of(const char *file)
{
    char *real = real_path(file);
    char *folder = parent_of(real);
    char *parent = parent_of(folder);
    char *templates = alloc_format("%s/kernel_templates", parent);
    bool whole = is_folder(templates);
    free(real);
    free(templates);
    free(whole ? folder : parent);
    return whole ? parent : folder;
}

static bool is_below(const char *path, const char *folder)
{
    char *real = real_path(path);
    size_t length = strlen(folder);
    bool below = strncmp(real, folder, length) == 0 &&
                 (real[length] == '/' || real[length] == '\0' || folder[length - 1] == '/');
    /* what is not there keeps its "..", which could lead anywhere */
    below = below && strstr(real, "/../") == NULL &&
            (strlen(real) < 3 || strcmp(real + strlen(real) - 3, "/..") != 0);
    free(real);
    return below;
}

/* `path`, which `file` names, is below `project`. */
static int check(const char *path, const char *file, const char *project, struct error *error)
{
    if (path == NULL || is_below(path, project))
        return 0;
    return error_set_at(error, ERROR_CONFIG, file, 0,
                        "'%s' is outside of '%s'; where you trust this file, add --allow-path",
                        path, project);
}

static int check_options(const struct template *template, struct error *error)
{
    for (size_t i = 0; i < template->option_count; i++)
        for (size_t j = 0; file_options[j] != NULL; j++)
            if (strncmp(template->options[i], file_options[j], strlen(file_options[j])) == 0)
                return error_set_at(error, ERROR_CONFIG, template->path, 0,
                                    "option '%s' may name files; where you trust this file, add "
                                    "--allow-path",
                                    template->options[i]);
    return 0;
}

static int check_template(const struct template *template, struct error *error)
{
    const char *file = template->path;
    char *project = project_of(file);
    int status = check(template->source.path, file, project, error);
    for (size_t i = 0; i < template->source.include_count && status == 0; i++)
        status = check(template->source.include_folders[i], file, project, error);
    for (size_t i = 0; i < template->source.header_count && status == 0; i++)
        status = check(template->source.headers[i], file, project, error);
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        status = check(template->buffers[i].fill.path, file, project, error);
    for (size_t i = 0; i < template->expectation_count && status == 0; i++)
        status = check(template->expectations[i].fill.path, file, project, error);
    if (status == 0)
        status = check_options(template, error);
    free(project);
    return status;
}

/* A template belongs to the sweep's project, or is one of those installed with the program. */
static int check_place(const struct sweep *sweep, const struct template *template,
                       struct error *error)
{
    char *project = project_of(sweep->path);
    char *folder = installed_templates();
    char *installed = real_path(folder);
    free(folder);
    int status = is_below(template->path, installed)
                     ? 0
                     : check(template->path, sweep->path, project, error);
    free(installed);
    free(project);
    return status;
}

int paths_check(const struct sweep *sweep, bool tuned, bool results, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < sweep->kernel_count && status == 0; i++) {
        status = check_place(sweep, &sweep->kernels[i].template, error);
        if (status == 0)
            status = check_template(&sweep->kernels[i].template, error);
    }
    char *here = real_path(".");
    if (tuned && status == 0)
        status = check(sweep->tuned, sweep->path, here, error);
    if (results && status == 0)
        status = check(sweep->results, sweep->path, here, error);
    free(here);
    return status;
}
