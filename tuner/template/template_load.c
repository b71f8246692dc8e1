#include "template/template_load.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/suggestion.h"
#include "template/fill.h"
#include "template/loader.h"
#include "template/template_buffers.h"
#include "template/template_definitions.h"
#include "template/template_expectations.h"
#include "template/template_gap.h"
#include "template/template_kernel.h"
#include "template/template_launches.h"
#include "template/template_names.h"
#include "template/template_options.h"
#include "template/template_parameters.h"
#include "template/template_read_figures.h"
#include "template/template_verifiers.h"
#include "template/value_list.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Every kind of section and its keys (NULL: any). */
static const char *const kernel_keys[] = {"source",     "description", "options", "max_registers",
                                          "features",   "include",     "depends", "define",
                                          "constraint", "cache",       NULL};
static const char *const buffer_keys[] = {"type",      "length", "access", "fill",         "symbol",
                                          "unchecked", "grid",   "block",  "shared_bytes", NULL};
static const char *const launch_keys[] = {"entry",
                                          "when",
                                          "grid",
                                          "block",
                                          "shared_bytes",
                                          "arguments",
                                          "cooperative",
                                          "co_resident",
                                          "cluster",
                                          "programmatic",
                                          "cluster_scheduling",
                                          "shared_carveout",
                                          "main",
                                          "loop",
                                          "from",
                                          "while",
                                          "next",
                                          NULL};
static const char *const expect_keys[] = {"reference", "reference_type", "grid",
                                          "block",     "shared_bytes",   "arguments",
                                          "compare",   "nan_equal",      NULL};
static const char *const verify_keys[] = {"entry",        "grid",      "block",
                                          "shared_bytes", "arguments", NULL};
static const char *const metrics_keys[] = {"bytes", "operations", NULL};

static const struct section_kind {
    const char *name; /* with a dot at the end: one section a member */
    const char *const *keys;
} section_kinds[] = {
    {"kernel", kernel_keys},  {"parameters", NULL},      {"launch_parameters", NULL},
    {"problem", NULL},        {"buffer.", buffer_keys},  {"launch.", launch_keys},
    {"expect.", expect_keys}, {"metrics", metrics_keys}, {"precompiled_headers", NULL},
    {"verify.", verify_keys}, {"figures", NULL},
};

static bool section_is(const char *section, const char *kind)
{
    size_t length = strlen(kind);
    if (kind[length - 1] == '.')
        return strncmp(section, kind, length) == 0 && section[length] != '\0';
    return strcmp(section, kind) == 0;
}

bool template_is_one(const char *path)
{
    struct ini_file ini;
    struct stat entry;
    if (lstat(path, &entry) != 0)
        return false;
    if (ini_file_read(&ini, path, NULL) != 0)
        return true;
    bool found = false;
    for (size_t i = 0; i < ini.count && !found; i++)
        for (size_t j = 0; j < sizeof section_kinds / sizeof *section_kinds && !found; j++)
            found = section_is(ini.entries[i].section, section_kinds[j].name);
    ini_file_release(&ini);
    return found;
}

static int is_ini(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ini") == 0;
}

char *template_nearest(const char *folder, const char *name)
{
    struct dirent **files = NULL;
    int count = scandir(folder, &files, is_ini, alphasort);
    const char **names = alloc_zeroed(count > 0 ? (size_t)count + 1 : 1, sizeof *names);
    size_t found = 0;
    for (int i = 0; i < count; i++) {
        char *path = alloc_format("%s/%s", folder, files[i]->d_name);
        files[i]->d_name[strlen(files[i]->d_name) - 4] = '\0';
        if (template_is_one(path))
            names[found++] = files[i]->d_name;
        free(path);
    }
    char *nearest = alloc_string(suggestion_nearest(name, names));
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    free(names);
    return nearest;
}

static int check_entry(const struct loader *loader, const struct ini_entry *entry)
{
    static const char *const known[] = {
        "kernel",      "parameters",          "launch_parameters", "problem",
        "buffer.NAME", "launch.NAME",         "expect.NAME",       "verify.NAME",
        "metrics",     "precompiled_headers", "figures",           NULL};
    const char *path = loader->template->path;
    for (size_t i = 0; i < sizeof section_kinds / sizeof *section_kinds; i++) {
        if (!section_is(entry->section, section_kinds[i].name))
            continue;
        if (entry->key == NULL || section_kinds[i].keys == NULL ||
            names_have(section_kinds[i].keys, entry->key))
            return 0;
        return suggestion_unknown(path, entry->line, "key", entry->key, section_kinds[i].keys,
                                  loader->error);
    }
    if (entry->section[0] == '\0')
        return loader_fail(loader, entry->line, "key '%s' is before the first section", entry->key);
    return suggestion_unknown(path, entry->line, "section", entry->section, known, loader->error);
}

static int check_entries(const struct loader *loader)
{
    for (size_t i = 0; i < loader->template->ini.count; i++) {
        int status = check_entry(loader, &loader->template->ini.entries[i]);
        if (status != 0)
            return status;
    }
    return 0;
}

/* The first section that cannot be used, where it has a gap, is the template's gap. */
static int note_gap(struct loader *loader, const struct ini_entry *heading, int status)
{
    struct error *gap = &loader->template->gap;
    struct error found;
    if (status == 0 || loader->error == NULL)
        return status;
    found = *loader->error;
    if (!template_gap_explain(loader->template->path, heading->line, &found))
        return status;
    if (gap->code == 0)
        *gap = found;
    return 0;
}

static int read_members(struct loader *loader)
{
    struct template *template = loader->template;
    size_t buffer = 0;
    size_t launch = 0;
    size_t expectation = 0;
    size_t verifier = 0;
    int status = 0;
    for (size_t i = 0; i < template->ini.count && status == 0; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key != NULL)
            continue;
        if (section_is(entry->section, "buffer."))
            status = loader_read_buffer(loader, entry->section, &template->buffers[buffer++]);
        else if (section_is(entry->section, "launch."))
            status = loader_read_launch(loader, entry->section, &template->launches[launch++]);
        else if (section_is(entry->section, "expect."))
            status = loader_read_expectation(loader, entry->section,
                                             &template->expectations[expectation++]);
        else if (section_is(entry->section, "verify."))
            status = loader_read_verifier(loader, entry->section, &template->verifiers[verifier++]);
        status = note_gap(loader, entry, status);
    }
    return status;
}

static int read_constraints(struct loader *loader)
{
    struct template *template = loader->template;
    struct names known = {.items = template->constraint_names};
    for (size_t i = 0; i < template->ini.count; i++) {
        struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->key, "constraint") != 0)
            continue;
        struct expression **constraint =
            ARRAY_APPEND(template->constraints, template->constraint_count);
        int status = loader_read_expression(loader, entry->value, entry->line, &known, constraint);
        if (status != 0)
            return status;
    }
    return 0;
}

/* --- the hash: of what is compiled and run --- */

static bool is_word_character(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '.';
}

/* Adds `value` without the blanks that mean nothing: outside quotes, those beside punctuation. */
static void hash_expression(struct hash *hash, const char *value)
{
    char *text = alloc_string(value);
    size_t length = 0;
    char quote = '\0'; /* the one that is open */
    for (const char *at = value; *at != '\0'; at++) {
        const char *next = at + strspn(at, " \t");
        if (quote == '\0' && next > at) {
            at = next - 1; /* the last blank stands for all */
            if (length == 0 || !is_word_character(text[length - 1]) || !is_word_character(*next))
                continue;
        }
        if (*at == quote)
            quote = '\0';
        else if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at;
        text[length++] = *at;
    }
    text[length] = '\0';
    hash_add_text(hash, text);
    free(text);
}

static void hash_entry(struct hash *hash, const struct ini_entry *entry)
{
    bool in_kernel = strcmp(entry->section, "kernel") == 0;
    bool verbatim = strstr(entry->value, "file(") != NULL || /* paths and options */
                    (in_kernel && strcmp(entry->key, "constraint") != 0);
    if (in_kernel && strcmp(entry->key, "description") == 0)
        return;
    hash_add_text(hash, entry->section);
    hash_add_text(hash, entry->key);
    if (verbatim)
        hash_add_text(hash, entry->value);
    else
        hash_expression(hash, entry->value);
}

/* Adds the entries behind a section's heading: in the order of `keys`, or in the file's if that is
 * NULL, since the order of parameters is that of the tuned INI. */
static void hash_section(struct hash *hash, const struct ini_entry *heading,
                         const struct ini_entry *end, const char *const *keys)
{
    static const char *const any[] = {"", NULL};
    for (const char *const *key = keys != NULL ? keys : any; *key != NULL; key++)
        for (const struct ini_entry *entry = heading + 1; entry < end && entry->key != NULL;
             entry++)
            if (keys == NULL || strcmp(entry->key, *key) == 0)
                hash_entry(hash, entry);
}

/*
 * Two templates with the same hash give the same measurements: comments, the layout, the order of
 * keys, [precompiled_headers] and the description do not count. What the fills stand for does.
 */
static void hash_template(struct template *template)
{
    static const uint32_t generator = FILL_GENERATOR;
    struct hash *hash = hash_new();
    const struct ini_entry *entries = template->ini.entries;
    const struct ini_entry *end = entries + template->ini.count;
    hash_add(hash, &generator, sizeof generator);
    hash_add_text(hash, template->source.hash);
    for (size_t i = 0; i < sizeof section_kinds / sizeof *section_kinds; i++)
        for (const struct ini_entry *entry = entries; entry < end; entry++)
            if (entry->key == NULL && section_is(entry->section, section_kinds[i].name) &&
                strcmp(entry->section, "precompiled_headers") != 0)
                hash_section(hash, entry, end, section_kinds[i].keys);
    hash_finish(hash, template->hash);
}

/* The pipeline of loading: names first, then what uses them. */
static int load(struct loader *loader)
{
    struct names *grids = &loader->grids;
    int status = check_entries(loader);
    if (status == 0)
        status = loader_read_kernel(loader);
    if (status == 0)
        status = loader_read_parameters(loader, "parameters", true);
    if (status == 0)
        status = loader_read_parameters(loader, "launch_parameters", false);
    if (status == 0)
        status = loader_read_parameters(loader, "problem", false);
    if (status == 0)
        status = loader_read_definitions(loader);
    if (status == 0)
        status = loader_collect_members(loader);
    if (status == 0)
        status = loader_collect_names(loader);
    if (status == 0)
        status = loader_read_figures(loader);
    if (status == 0)
        status = loader_read_options(loader);
    if (status == 0)
        status = loader_read_precompiled_headers(loader);
    if (status == 0)
        status = read_members(loader);
    if (status == 0)
        status = loader_link_verifiers(loader);
    if (status == 0 && loader->template->gap.code == 0)
        status = loader_check_results(loader);
    if (status == 0)
        status = loader_check_symbols(loader);
    if (status == 0)
        status = read_constraints(loader);
    if (status == 0)
        status = loader_read_key(loader, "metrics", "bytes", grids, &loader->template->bytes);
    if (status == 0)
        status =
            loader_read_key(loader, "metrics", "operations", grids, &loader->template->operations);
    return status;
}

static char *template_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return alloc_string_n(base, dot != NULL ? (size_t)(dot - base) : strlen(base));
}

int template_load_unfinished(struct template *template, const char *path, struct error *error)
{
    *template = (struct template){0};
    int status = ini_file_read(&template->ini, path, error);
    if (status != 0)
        return status;
    template->path = alloc_string(path);
    template->name = template_name_of(path);
    struct loader loader = {.template = template, .error = error};
    status = load(&loader);
    if (status == 0)
        hash_template(template);
    text_split_release(loader.made, loader.made_count);
    free(loader.fixed.items);
    free(loader.base.items);
    free(loader.buffers.items);
    free(loader.grids.items);
    if (status != 0)
        template_release(template);
    return status;
}

int template_load(struct template *template, const char *path, struct error *error)
{
    int status = template_load_unfinished(template, path, error);
    if (status != 0 || template->gap.code == 0)
        return status;
    if (error != NULL)
        *error = template->gap;
    template_release(template);
    return ERROR_CONFIG;
}
