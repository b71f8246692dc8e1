#include "report.h"

#include "alloc.h"
#include "report_formats.h"
#include "write_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*print)(FILE *stream, const struct study *studies, size_t count, size_t top);
} formats[] = {
    [REPORT_TABLE] = {"table", report_table},
    [REPORT_CSV] = {"csv", report_csv},
    [REPORT_JSON] = {"json", report_json},
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
    formats[options->format].print(stream, studies, count, options->top);
    if (fflush(stream) != 0 || ferror(stream))
        return error_set_errno(error, ERROR_RECORD, "the report cannot be written");
    return 0;
}

/* "nvidia-h200": lower case, one '-' for each run of anything but letters and digits; a new string.
 */
static char *gpu_folder(const struct environment *environment)
{
    if (environment->static_mode)
        return alloc_format("static-%s", environment->gpu.arch);
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

/* "reduce_sum-n-1024-value_type-float.csv": names without characters that shells and archives
 * mind; a new string. */
static char *file_name(const struct study *study)
{
    char *problem = bindings_text(&study->problem);
    for (char *other = problem; (other = strpbrk(other, " =")) != NULL;)
        *other = '-';
    char *name = alloc_format("%s%s%s.csv", study->kernel, problem[0] != '\0' ? "-" : "", problem);
    free(problem);
    return name;
}

int report_write_csv(const char *folder, const struct study *study, struct error *error)
{
    char *gpu = gpu_folder(&study->environment);
    char *name = file_name(study);
    char *path = alloc_format("%s/%s/%s", folder, gpu, name);
    struct write_file file;
    int result = write_file_begin(&file, path, error);
    if (result == 0) {
        report_csv(file.stream, study, 1, 0);
        result = write_file_commit(&file, WRITE_FILE_DURABLE, error);
    }
    free(path);
    free(name);
    free(gpu);
    return result;
}
