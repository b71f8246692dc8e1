#include "report/report.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/write_file.h"
#include "report/report_formats.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct format {
    const char *name;
    const char *suffix; /* of a file */
    bool together;      /* a file has all problems of a kernel */
    bool measured_only; /* static mode has nothing to say */
    int (*print)(FILE *stream, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error);
} formats[] = {
    [REPORT_TABLE] = {"table", "txt", false, false, report_table},
    [REPORT_CSV] = {"csv", "csv", false, false, report_csv},
    [REPORT_JSON] = {"json", "json", false, false, report_json},
    [REPORT_HTML] = {"html", "html", true, false, report_html},
    [REPORT_T4] = {"t4", "t4.json", false, true, report_t4},
};

int report_format_from_name(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return (int)i;
    return -1;
}

int report_print(FILE *stream, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error)
{
    return formats[options->format].print(stream, studies, count, options, error);
}

/* --- files --- */

/* The most bytes of a name before its hash; with that, a suffix and what write_file.h appends it
 * stays below 255. */
enum { NAME_LENGTH = 160 };

/*
 * Makes `text` the name of a file or folder: each character that shells, archives or paths treat
 * specially becomes '-', and a long name is cut. A name that was changed ends in a hash of the whole
 * text, so different texts have different names. Takes `text`; a new string.
 */
static char *safe_name(char *text)
{
    char *name = alloc_format("%.*s", NAME_LENGTH, text);
    bool changed = strlen(text) > NAME_LENGTH;
    for (char *next = name; *next != '\0'; next++) {
        bool safe = isalnum((unsigned char)*next) || (unsigned char)*next >= 0x80 ||
                    strchr("_-+.", *next) != NULL;
        if (safe && (next > name || *next != '.'))
            continue;
        *next = '-';
        changed = true;
    }
    if (changed) {
        char digits[HASH_BYTES];
        struct hash *hash = hash_new();
        hash_add_text(hash, text);
        hash_finish(hash, digits);
        char *whole = alloc_format("%s-%s", name, digits);
        free(name);
        name = whole;
    }
    free(text);
    return name;
}

/* "nvidia-h200": lower case, one '-' for each run of anything but letters and digits; a new string.
 */
static char *gpu_folder(const struct environment *environment)
{
    if (environment->static_mode)
        return safe_name(alloc_format("static-%s", environment->gpu.arch));
    char *name = alloc_zeroed(sizeof environment->gpu.name, 1);
    size_t length = 0;
    for (const char *next = environment->gpu.name; *next != '\0'; next++) {
        if (isalnum((unsigned char)*next))
            name[length++] = (char)tolower((unsigned char)*next);
        else if (length > 0 && name[length - 1] != '-')
            name[length++] = '-';
    }
    while (length > 0 && name[length - 1] == '-')
        name[--length] = '\0';
    return name;
}

/* "n-1024-value_type-float", or "default" for a kernel without problem values, with "-warm" after it
 * for a warm cache; a new string. */
static char *problem_name(const struct study *study)
{
    const char *cache = strcmp(study->cache, "warm") == 0 ? " warm" : "";
    const char *tool = study->environment.tool;
    char *values = bindings_text(&study->problem);
    char *text = alloc_format("%s%s%s%s", values[0] != '\0' ? values : "default", cache,
                              tool[0] != '\0' ? " " : "", tool);
    free(values);
    for (char *next = text; (next = strpbrk(next, " =")) != NULL;)
        *next = '-';
    return safe_name(text);
}

/* FOLDER/<gpu>/<kernel>/<problem>.csv, or FOLDER/<gpu>/<kernel>.html; a new string. */
static char *file_path(const char *folder, const struct study *study, const struct format *format)
{
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    char *gpu = gpu_folder(&study->environment);
    char *kernel = safe_name(alloc_string(study->kernel));
    char *problem = format->together ? NULL : problem_name(study);
    char *path =
        problem == NULL
            ? alloc_format("%s%s%s/%s.%s", folder, slash, gpu, kernel, format->suffix)
            : alloc_format("%s%s%s/%s/%s.%s", folder, slash, gpu, kernel, problem, format->suffix);
    free(problem);
    free(kernel);
    free(gpu);
    return path;
}

static int write_one(const char *path, const struct study *studies, size_t count,
                     const struct report_options *options, struct error *error)
{
    struct write_file file;
    int result = write_file_begin(&file, path, error);
    if (result != 0)
        return result;
    result = formats[options->format].print(file.stream, studies, count, options, error);
    return write_file_finish(&file, result, error);
}

int report_write(const char *path, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error)
{
    const struct format *format = &formats[options->format];
    struct stat status;
    size_t length = strlen(path);
    int result = 0;
    bool any = false;
    bool folder = (length > 0 && path[length - 1] == '/') ||
                  (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
    if (!folder)
        return write_one(path, studies, count, options, error);
    char **paths =
        alloc_zeroed(count, sizeof *paths); /* NULL: of no file, or of one that is written */
    struct study *together =
        alloc_zeroed(count, sizeof *together); /* in one file; still the caller's */
    for (size_t i = 0; i < count; i++)
        if (!format->measured_only || !studies[i].environment.static_mode)
            paths[i] = file_path(path, &studies[i], format);
    for (size_t i = 0; i < count; i++) {
        char *own = paths[i];
        size_t kept = 0;
        for (size_t j = i; j < count && own != NULL; j++) {
            if (paths[j] == NULL || strcmp(paths[j], own) != 0)
                continue;
            together[kept++] = studies[j];
            if (j > i)
                free(paths[j]);
            paths[j] = NULL;
        }
        any = any || own != NULL;
        if (own != NULL && result == 0)
            result = write_one(own, together, kept, options, error);
        free(own);
    }
    free(together);
    free(paths);
    return any ? result
               : error_set(error, ERROR_USAGE, "no study can be written as %s: nothing was run",
                           format->name);
}
