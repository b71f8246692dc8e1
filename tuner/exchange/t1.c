#include "exchange/t1.h"

#include "base/alloc.h"
#include "base/subprocess.h"
#include "template/template.h"
#include "template/value_list.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char import_t1_script[]; /* python_expression.py and import_t1.py, made by CMake */

/* Takes the script's answer. */
static int read_answer(const char *path, const char *folder, const char *answer,
                       struct t1_import *import, struct error *error)
{
    json_t *json = json_loads(answer, 0, NULL);
    const char *wrong = json_string_value(json_object_get(json, "error"));
    const char *report = json_string_value(json_object_get(json, "report"));
    const json_t *files = json_object_get(json, "files");
    int status = 0;
    if (wrong != NULL)
        status = error_set(error, ERROR_CONFIG, "%s", wrong);
    else if (report == NULL || json_array_size(files) < 2)
        status = error_set_at(error, ERROR_CONFIG, path, 0, "python3 did not convert it");
    for (size_t i = 0; i < json_array_size(files) && status == 0; i++) {
        const char *file = json_string_value(json_array_get(files, i));
        *ARRAY_APPEND(import->files, import->file_count) =
            strcmp(folder, ".") == 0 ? alloc_string(file) : alloc_format("%s/%s", folder, file);
    }
    if (status == 0)
        import->report = alloc_string(report);
    json_decref(json);
    return status;
}

int t1_import(const char *path, const char *name, const char *folder, struct t1_import *import,
              struct error *error)
{
    char *python = subprocess_find("python3");
    char *answer = NULL;
    struct names arguments = {0};
    *import = (struct t1_import){0};
    if (python == NULL)
        return error_set_at(
            error, ERROR_CONFIG, path, 0,
            "importing a T1 file needs python3, which is not on the PATH; install "
            "Python 3.9 or newer, on Debian and Ubuntu with `apt-get install python3`");
    /* isolated: the user's modules and environment change nothing */
    const char *const fixed[] = {
        python, "-I", "-W", "ignore", "-", path, folder, name != NULL ? name : "", NULL};
    names_add_all(&arguments, fixed);
    template_names_reserved(&arguments);
    int status = subprocess_run((char *const *)(uintptr_t)arguments.items, import_t1_script,
                                strlen(import_t1_script), &answer, error);
    if (status == 0)
        status = read_answer(path, folder, answer, import, error);
    free(answer);
    free((void *)(uintptr_t)arguments.items);
    free(python);
    return status;
}

void t1_import_remove(const struct t1_import *import)
{
    for (size_t i = 0; i < import->file_count; i++)
        (void)unlink(import->files[i]);
}

void t1_import_release(struct t1_import *import)
{
    for (size_t i = 0; i < import->file_count; i++)
        free(import->files[i]);
    free(import->files);
    free(import->report);
    *import = (struct t1_import){0};
}
