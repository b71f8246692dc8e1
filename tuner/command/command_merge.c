#include "command/command.h"

#include "base/alloc.h"
#include "record/tuned_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entry and where it came from. */
struct candidate {
    const struct tuned_entry *entry;
    const char *path;
};

/*
 * Whether `b` should replace `a`, and why. Times of different versions of a template, of a cold and
 * a warm cache, or of batches and single runs cannot be compared, so the newer entry stays.
 */
static bool is_better(const struct tuned_entry *a, const struct tuned_entry *b, const char **reason)
{
    bool comparable = strcmp(a->template_hash, b->template_hash) == 0 &&
                      strcmp(a->cache, b->cache) == 0 && (a->runs > 1) == (b->runs > 1);
    int newer = strcmp(b->date, a->date);
    *reason = strcmp(a->template_hash, b->template_hash) != 0
                  ? "newer, with another version of the template"
              : strcmp(a->cache, b->cache) != 0
                  ? "newer, and measured with another cache state"
                  : "newer, and only one of them was measured in batches";
    if (!comparable)
        return newer > 0;
    *reason = "faster";
    if (b->median_ns < a->median_ns || b->median_ns > a->median_ns)
        return b->median_ns < a->median_ns;
    *reason = newer != 0 ? "as fast, and newer" : "the same";
    return newer > 0;
}

static void print_choice(const struct candidate *kept, const struct candidate *dropped,
                         const char *reason)
{
    char *problem = bindings_text(&kept->entry->problem);
    printf("%s%s%s on %s: %s (%.2f us) over %s (%.2f us): %s\n", kept->entry->kernel,
           problem[0] != '\0' ? " " : "", problem, kept->entry->gpu, kept->path,
           kept->entry->median_ns * 1e-3, dropped->path, dropped->entry->median_ns * 1e-3, reason);
    free(problem);
}

static bool same_subject(const struct tuned_entry *a, const struct tuned_entry *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->gpu, b->gpu) == 0 &&
           strcmp(a->arch, b->arch) == 0 && bindings_equal(&a->problem, &b->problem);
}

static size_t find_section(const struct tuned_file *tuned, const char *section)
{
    size_t i = 0;
    while (i < tuned->count && strcmp(tuned->entries[i].section, section) != 0)
        i++;
    return i;
}

/* `origins[i]` is the file that entry i came from. */
struct merge {
    struct tuned_file tuned;
    const char **origins;
};

static int merge_entry(struct merge *merge, struct tuned_entry *entry, const char *path,
                       struct error *error)
{
    size_t index = find_section(&merge->tuned, entry->section);
    if (index == merge->tuned.count) {
        tuned_file_merge(&merge->tuned, entry);
        merge->origins[index] = path;
        return 0;
    }
    struct candidate old = {&merge->tuned.entries[index], merge->origins[index]};
    struct candidate new = {entry, path};
    const char *reason;
    if (!same_subject(old.entry, new.entry))
        return error_set_at(error, ERROR_CONFIG, path, 0,
                            "section '%s' has another kernel, GPU or problem than in '%s'; was one "
                            "of the files edited?",
                            entry->section, old.path);
    bool replaces = is_better(old.entry, new.entry, &reason);
    if (replaces)
        print_choice(&new, &old, reason);
    else
        print_choice(&old, &new, reason);
    if (replaces) {
        tuned_file_merge(&merge->tuned, entry);
        merge->origins[index] = path;
    } else {
        tuned_entry_release(entry);
    }
    return 0;
}

static int merge_file(struct merge *merge, const char *path, struct error *error)
{
    struct tuned_file tuned;
    int status = tuned_file_read(path, &tuned, error);
    if (status == 0 && tuned.count == 0)
        status = error_set_at(error, ERROR_CONFIG, path, 0,
                              "the file does not exist or has no entries; name tuned INIs");
    if (status != 0)
        return status;
    merge->origins =
        alloc_resize(merge->origins, merge->tuned.count + tuned.count, sizeof *merge->origins);
    for (size_t i = 0; i < tuned.count && status == 0; i++)
        status = merge_entry(merge, &tuned.entries[i], path, error);
    for (size_t i = 0; i < tuned.count; i++) /* the ones that were moved are empty */
        tuned_entry_release(&tuned.entries[i]);
    free(tuned.entries);
    return status;
}

static int merge_files(char *const *files, const char *output, struct error *error)
{
    struct merge merge = {0};
    int status = 0;
    if (files[0] == NULL)
        return error_set(
            error, ERROR_USAGE,
            "no tuned INI to merge; name some, for example `autotune merge a.ini b.ini "
            "--output c.ini`");
    if (output == NULL)
        return error_set(error, ERROR_USAGE, "no file to write; name one with --output");
    for (; *files != NULL && status == 0; files++)
        status = merge_file(&merge, *files, error);
    if (status == 0)
        status = tuned_file_write(output, &merge.tuned, error);
    tuned_file_release(&merge.tuned);
    free(merge.origins);
    return status;
}

int command_merge(int argc, const char **argv, struct error *error)
{
    char *output = NULL;
    const struct poptOption table[] = {
        option_text("output", 'o', &output, "the file to write; may be one of the inputs", "FILE"),
        POPT_TABLEEND};
    char **files = NULL;
    int status = command_parse_arguments(
        argc, argv, table,
        "merge FILE... --output FILE\n\n"
        "Merges tuned INIs. If two have an entry for the same kernel, GPU and problem,\n"
        "the faster one is kept, or the newer one if their times cannot be compared.\n"
        "Each choice is printed.\n\n"
        "Example: autotune merge h200.ini a100.ini --output tuned.ini",
        &files, error);
    if (status == 0)
        status = merge_files(files, output, error);
    command_arguments_release(files);
    free(output);
    return status < 0 ? status : 0;
}
