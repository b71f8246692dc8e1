#include "exchange/t1_text.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/write_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEMPLATE, SOURCE, SWEEP, FILE_COUNT };

/* The names of the files. A kernel that is called NAME.cu itself stays as it is. */
static void name_files(struct t1 *t1, const char *folder)
{
    const char *kernel = t1_text_of(t1->kernel, "KernelFile");
    char *path = kernel != NULL ? path_beside(t1->path, kernel) : NULL;
    char *base =
        strcmp(folder, ".") == 0 ? alloc_string(t1->name) : alloc_format("%s/%s", folder, t1->name);
    t1->files[TEMPLATE] = alloc_format("%s.ini", base);
    t1->files[SOURCE] = alloc_format("%s.cu", base);
    t1->files[SWEEP] = alloc_format("%s_sweep.ini", base);
    char *there = path != NULL ? realpath(path, NULL) : NULL;
    char *ours = realpath(t1->files[SOURCE], NULL);
    if (there != NULL && ours != NULL && strcmp(there, ours) == 0) {
        free(t1->files[SOURCE]);
        t1->files[SOURCE] = alloc_format("%s_kernel.cu", base);
    }
    free(base);
    free(ours);
    free(there);
    free(path);
}

static int check_free(const struct t1 *t1, struct error *error)
{
    for (size_t i = 0; i < FILE_COUNT; i++)
        if (access(t1->files[i], F_OK) == 0)
            return error_set(error, ERROR_USAGE,
                             "'%s' exists; remove it, or choose another folder with --output or "
                             "another name with --kernel",
                             t1->files[i]);
    return 0;
}

/* Adds a folder to the list "a, b", unless it is that of the template, where headers are found in
 * any case. */
static void add_folder(char **list, const char *path, const char *folder)
{
    char *there = realpath(path, NULL);
    char *here = realpath(folder, NULL);
    if (there != NULL && (here == NULL || strcmp(here, there) != 0)) {
        char *longer =
            alloc_format("%s%s%s", *list != NULL ? *list : "", *list != NULL ? ", " : "", there);
        free(*list);
        *list = longer;
    }
    free(here);
    free(there);
}

/* The folders of headers: the kernel's, if it names any, and those of -I. NULL if there are none. A
 * new string. */
static char *include_folders(const struct t1 *t1, const struct t1_source *source,
                             const char *folder)
{
    const char *kernel = t1_text_of(t1->kernel, "KernelFile");
    const json_t *options = json_object_get(t1->kernel, "CompilerOptions");
    char *list = NULL;
    char *path = kernel != NULL ? path_beside(t1->path, kernel) : NULL;
    char *from = path != NULL ? path_folder(path) : NULL;
    if (source->has_quotes && from != NULL)
        add_folder(&list, from, folder);
    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *option = json_string_value(json_array_get(options, i));
        if (option == NULL || strncmp(option, "-I", 2) != 0)
            continue;
        char *stated = path_beside(t1->path, option + 2);
        add_folder(&list, stated, folder);
        free(stated);
    }
    free(from);
    free(path);
    return list;
}

/* Makes the three texts. */
static void make_texts(struct t1 *t1, const char *folder, char *texts[FILE_COUNT],
                       size_t sizes[FILE_COUNT])
{
    struct t1_source source;
    t1_source_read(t1, &source);
    char *include = include_folders(t1, &source, folder);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        FILE *stream = open_memstream(&texts[i], &sizes[i]);
        if (stream == NULL)
            abort(); /* out of memory, as in alloc.h */
        if (i == TEMPLATE)
            t1_template_print(stream, t1, &source, t1_file_name(t1->files[SOURCE]), include);
        else if (i == SOURCE)
            t1_source_print(stream, t1, &source);
        else
            t1_sweep_print(stream, t1);
        (void)fclose(stream);
    }
    free(include);
    t1_source_release(&source);
}

void t1_remove(const struct t1 *t1)
{
    for (size_t i = 0; i < FILE_COUNT; i++)
        if (t1->files[i] != NULL)
            (void)unlink(t1->files[i]);
}

int t1_write(struct t1 *t1, const char *folder, struct error *error)
{
    char *texts[FILE_COUNT] = {NULL};
    size_t sizes[FILE_COUNT];
    name_files(t1, folder);
    int status = check_free(t1, error);
    if (status != 0)
        return status;
    make_texts(t1, folder, texts, sizes);
    for (size_t i = 0; i < FILE_COUNT && status == 0; i++)
        status = write_file_bytes(t1->files[i], texts[i], sizes[i], error);
    if (status != 0)
        t1_remove(t1);
    for (size_t i = 0; i < FILE_COUNT; i++)
        free(texts[i]);
    return status;
}
