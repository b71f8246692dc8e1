#include "command/command.h"

#include "base/alloc.h"
#include "base/read_file.h"
#include "record/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int load_tuned(const char *path, struct compare_set *set, size_t *covers,
                      struct error *error)
{
    struct tuned_file tuned = {0};
    int status = command_read_tuned(path, &tuned, error);
    for (size_t i = 0; i < tuned.count; i++) {
        if (tuned.entries[i].cover != NULL) { /* has no time */
            ++*covers;
            continue;
        }
        if (tuned.entries[i].median_ns <= 0) {
            fprintf(stderr, "autotune: %s: section '%s' is not compared: its time is not known\n",
                    path, tuned.entries[i].section);
            continue;
        }
        ARRAY_APPEND(set->items, set->count)->entry = tuned.entries[i];
        tuned.entries[i] = (struct tuned_entry){0};
    }
    tuned_file_release(&tuned);
    if (*covers > 0 && set->count > 0)
        fprintf(stderr,
                "autotune: %s: %zu cover%s not compared, since a cover has no single time\n", path,
                *covers, *covers == 1 ? " is" : "s are");
    return status;
}

static int load_record(const char *path, struct compare_set *set, struct error *error)
{
    struct study *studies = NULL;
    size_t count = 0;
    int status = command_read_record(path, &studies, &count, error);
    for (size_t i = 0; i < count; i++)
        if (studies[i].has_winner && !studies[i].environment.static_mode) {
            struct result *winner = &studies[i].results[studies[i].winner];
            struct compare_item *item = ARRAY_APPEND(set->items, set->count);
            tuned_entry_from_study(&studies[i], &item->entry);
            item->samples_ns = winner->samples_ns; /* moved */
            item->sample_count = winner->sample_count;
            winner->samples_ns = NULL;
            winner->sample_count = 0;
        }
    command_free_studies(studies, count);
    return status;
}

/* A record, which is an SQLite database by its first bytes, or a tuned INI. */
static int load_file(const char *path, struct compare_set *set, size_t *covers, struct error *error)
{
    static const char magic[] = "SQLite format 3";
    char bytes[sizeof magic] = "";
    FILE *file = open_regular(path);
    if (file == NULL)
        return error_set_errno(error, ERROR_USAGE, "'%s' cannot be opened", path);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file); /* only read */
    bool is_record = length == sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    return is_record ? load_record(path, set, error) : load_tuned(path, set, covers, error);
}

/* Loads the record of a results folder, which has the samples, or else its tuned INI. */
static int load_folder(const char *folder, struct compare_set *set, size_t *covers,
                       struct error *error)
{
    char *record = alloc_format("%s/record.sqlite", folder);
    char *tuned = alloc_format("%s/tuned.ini", folder);
    int status;
    if (access(record, F_OK) == 0)
        status = load_file(record, set, covers, error);
    else if (access(tuned, F_OK) == 0)
        status = load_file(tuned, set, covers, error);
    else
        status = error_set(error, ERROR_USAGE,
                           "no 'record.sqlite' and no 'tuned.ini' in '%s'; name a results folder, "
                           "a record or a tuned INI",
                           folder);
    free(tuned);
    free(record);
    return status;
}

static int load(const char *path, struct compare_set *set, struct error *error)
{
    struct stat file;
    bool folder = stat(path, &file) == 0 && S_ISDIR(file.st_mode);
    size_t covers = 0;
    int status =
        folder ? load_folder(path, set, &covers, error) : load_file(path, set, &covers, error);
    if (status == 0 && set->count == 0)
        status = error_set(error, ERROR_USAGE, "'%s' has %s", path,
                           covers > 0 ? "nothing but covers, which have no single time; name the "
                                        "records or results folders"
                                      : "no winner with a time; tune first");
    return status;
}

static int print(const struct comparison *comparisons, size_t count, enum report_format format,
                 struct error *error)
{
    switch (format) {
    case REPORT_TABLE:
        compare_report_table(stdout, comparisons, count);
        break;
    case REPORT_CSV:
        compare_report_csv(stdout, comparisons, count);
        break;
    case REPORT_JSON:
        compare_report_json(stdout, comparisons, count);
        break;
    default:
        return error_set(error, ERROR_USAGE,
                         "compare does not print this format; choose table, csv or json");
    }
    return 0;
}

static int compare(const char *a_path, const char *b_path, enum report_format format,
                   struct error *error)
{
    struct compare_set a = {0};
    struct compare_set b = {0};
    struct comparison *comparisons = NULL;
    size_t count = 0;
    int status = load(a_path, &a, error);
    if (status == 0)
        status = load(b_path, &b, error);
    if (status == 0) {
        comparisons = compare_sets(&a, &b, &count);
        status = print(comparisons, count, format, error);
    }
    if (status == 0 && compare_count(comparisons, count, COMPARE_ONLY_A) == a.count)
        status =
            error_set(error, ERROR_USAGE, "'%s' and '%s' have no kernel, problem and GPU in common",
                      a_path, b_path);
    if (status == 0 && compare_count(comparisons, count, COMPARE_SLOWER) > 0)
        status = ERROR_SLOWER; /* the output has said it */
    free(comparisons);
    compare_set_release(&b);
    compare_set_release(&a);
    return status;
}

static int compare_paths(void *user, struct command_input *input, struct error *error)
{
    char *const *paths = input->arguments;
    size_t count = 0;
    enum report_format format;
    int status = command_check(user, false, &format, error);
    while (paths[count] != NULL)
        count++;
    if (status == 0 && count != 2)
        status = error_set(error, ERROR_USAGE,
                           "expected two results folders, records or tuned INIs, not %zu; see "
                           "`autotune compare --help`",
                           count);
    return status == 0 ? compare(paths[0], paths[1], format, error) : status;
}

int command_compare(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {option_text("format", 'f', &options.format,
                                                   "table, csv or json (default: table)", "FORMAT"),
                                       POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_ARGUMENTS,
        "compare A B [OPTION...]\n\n"
        "Compares the winners of two results, for each kernel, problem and GPU, and\n"
        "prints which changed and which are faster or slower by more than noise. A and B\n"
        "are results folders, records or tuned INIs. Records contain the raw samples, so\n"
        "their intervals are narrower.\n\n"
        "Exit status: 0 nothing is slower, 1 something is slower by more than noise,\n"
        "2 usage, or A and B have nothing in common.\n\n"
        "Example: autotune compare results.before results",
        compare_paths, &options};
    return command_perform(argc, argv, &line, error);
}
