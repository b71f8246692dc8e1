#include "command/command.h"

#include "base/alloc.h"
#include "record/compare.h"
#include "record/tuned_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An entry and where it came from. */
struct candidate {
    const struct tuned_entry *entry;
    const char *path;
};

/* Positive if `b` was measured later. Of two from the same moment, the shorter time counts as later,
 * so that the order of the files does not matter. */
static double later(const struct tuned_entry *a, const struct tuned_entry *b)
{
    int order = strcmp(b->date, a->date);
    return order != 0 ? order : a->median_ns - b->median_ns;
}

/* `b` compared with `a`, by what a tuned INI keeps of both. */
static struct comparison compare(const struct tuned_entry *a, const struct tuned_entry *b)
{
    struct compare_item first = {.entry = *a}; /* borrowed */
    struct compare_item second = {.entry = *b};
    size_t count;
    struct comparison *comparisons =
        compare_sets(&(struct compare_set){&first, 1}, &(struct compare_set){&second, 1}, &count);
    struct comparison comparison = comparisons[0];
    comparison.a = comparison.b = NULL; /* end with this function */
    free(comparisons);
    return comparison;
}

/* Without the stamps of the headers, of which none is newer. */
static int compare_nvrtc(const char *a, const char *b)
{
    char *first = alloc_string_n(a, strcspn(a, "+"));
    char *second = alloc_string_n(b, strcspn(b, "+"));
    int order = strverscmp(first, second);
    free(first);
    free(second);
    return order;
}

/*
 * Whether `b` should replace `a`, and why the one that stays does. A shorter time alone is not a
 * reason: of many measurements the luckiest would stay. Times of different templates, drivers or
 * compilers, or of batches and single runs, are not compared at all.
 */
static bool is_better(const struct tuned_entry *a, const struct tuned_entry *b, const char **reason)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the file has entries once one was found */
    int driver = strverscmp(b->driver, a->driver);
    int nvrtc = compare_nvrtc(b->nvrtc, a->nvrtc);
    *reason = "the cover was made later";
    if (a->cover != NULL)
        return later(a, b) > 0;
    *reason = "the other one's time is not known";
    if ((a->median_ns > 0) != (b->median_ns > 0))
        return b->median_ns > 0;
    *reason = "measured later, with another version of the template";
    if (strcmp(a->template_hash, b->template_hash) != 0)
        return later(a, b) > 0;
    *reason = "the other one is incomplete";
    if (a->incomplete != b->incomplete)
        return a->incomplete;
    *reason = driver != 0 ? "for the newer driver" : "for the newer NVRTC";
    if (driver != 0 || nvrtc != 0)
        return (driver != 0 ? driver : nvrtc) > 0;
    *reason = "measured later, with other CUDA headers";
    if (strcmp(a->nvrtc, b->nvrtc) != 0)
        return later(a, b) > 0;
    *reason = "measured later, and only one of them was measured in batches";
    if ((a->runs > 1) != (b->runs > 1))
        return later(a, b) > 0;
    const struct comparison comparison = compare(a, b);
    *reason = strcmp(a->date, b->date) != 0 ? "measured later, with the same configuration"
                                            : "the same configuration";
    if (comparison.configuration == COMPARE_EQUAL)
        return later(a, b) > 0;
    *reason = "measured later, and the two tied";
    if (comparison.configuration == COMPARE_TIED)
        return later(a, b) > 0;
    *reason = "faster";
    if (comparison.status != COMPARE_SAME)
        return comparison.status == COMPARE_FASTER;
    *reason = "measured later, and no slower than noise explains";
    return later(a, b) > 0;
}

static void print_choice(const struct candidate *kept, const struct candidate *dropped,
                         const char *reason)
{
    char *problem = bindings_text(&kept->entry->problem);
    printf("%s%s%s on %s: ", kept->entry->kernel, problem[0] != '\0' ? " " : "", problem,
           kept->entry->gpu);
    if (kept->entry->cover != NULL)
        printf("%s over %s: %s\n", kept->path, dropped->path, reason);
    else
        printf("%s (%.2f us) over %s (%.2f us): %s\n", kept->path, kept->entry->median_ns * 1e-3,
               dropped->path, dropped->entry->median_ns * 1e-3, reason);
    free(problem);
}

/* `origins[i]` is the file that entry i came from. */
struct merge {
    struct tuned_file tuned;
    struct tuned_file rest; /* without entries */
    const char **origins;
};

static void merge_entry(struct merge *merge, struct tuned_entry *entry, const char *path)
{
    size_t index = tuned_file_find(&merge->tuned, entry);
    if (index == merge->tuned.count) {
        tuned_file_merge(&merge->tuned, entry);
        merge->origins[index] = path;
        return;
    }
    assert(merge->tuned.entries != NULL);
    struct candidate old = {&merge->tuned.entries[index], merge->origins[index]};
    struct candidate new = {entry, path};
    const char *reason;
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
}

static int merge_file(struct merge *merge, const char *path, struct error *error)
{
    struct tuned_file tuned;
    int status = command_read_tuned(path, &tuned, error);
    if (status == 0 && tuned.count == 0)
        status = error_set_at(error, ERROR_CONFIG, path, 0,
                              "the file does not exist or has no entries; name tuned INIs");
    if (status != 0)
        return status;
    merge->origins =
        alloc_resize(merge->origins, merge->tuned.count + tuned.count, sizeof *merge->origins);
    for (size_t i = 0; i < tuned.count; i++)
        merge_entry(merge, &tuned.entries[i], path);
    tuned_file_take_rest(&merge->rest, &tuned);
    return 0;
}

static int merge_files(void *user, struct command_input *input, struct error *error)
{
    const char *output = *(char *const *)user;
    char *const *files = input->arguments;
    struct merge merge = {0};
    int lock = -1;
    if (files[0] == NULL)
        return error_set(
            error, ERROR_USAGE,
            "no tuned INI to merge; name some, for example `autotune merge a.ini b.ini "
            "--output c.ini`");
    if (output == NULL)
        return error_set(error, ERROR_USAGE, "no file to write; name one with --output");
    int status = tuned_file_lock(output, &lock, error); /* it may be one of the files */
    for (; *files != NULL && status == 0; files++)
        status = merge_file(&merge, *files, error);
    /* not before, since a merged entry drops the skipped sections of its name */
    tuned_file_take_rest(&merge.tuned, &merge.rest);
    if (status == 0)
        status = tuned_file_write(output, &merge.tuned, error);
    if (lock >= 0)
        (void)close(lock);
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
    const struct command_line line = {
        table, TAKES_ARGUMENTS,
        "merge FILE... --output FILE\n\n"
        "Merges tuned INIs. If two have an entry for the same kernel, GPU, problem and\n"
        "cache state, the first of these rules that applies decides which one is kept:\n"
        "  a time that is not known         the other one\n"
        "  another version of the template  the later one\n"
        "  interrupted tuning               the complete one\n"
        "  another driver or NVRTC          the one from the newer version\n"
        "  batches of runs, single runs     the later one\n"
        "  the same configuration, or tied  the later one\n"
        "  faster by more than noise        the faster one\n"
        "  within noise                     the later one\n"
        "Of two covers of the same problems, the later one is kept.\n"
        "Each choice is printed.\n\n"
        "Example: autotune merge h200.ini a100.ini --output tuned.ini",
        merge_files, &output};
    return command_perform(argc, argv, &line, error);
}
