#include "template/template_load.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/suggestion.h"
#include "template/dependencies.h"
#include "template/fill.h"
#include "template/loader.h"
#include "template/value_list.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- kinds of sections --- */

enum { KEYS_MOST = 20 };

static const struct section_kind {
    const char *name;            /* with a dot at the end: one section a member */
    const char *keys[KEYS_MOST]; /* none: any */
} section_kinds[] = {
    {"kernel",
     {"source", "description", "options", "max_registers", "features", "include", "depends",
      "define", "constraint", "cache", "host_code"}},
    {"parameters", {NULL}},
    {"launch_parameters", {NULL}},
    {"problem", {NULL}},
    {"buffer.",
     {"type", "element_bytes", "length", "access", "fill", "symbol", "unchecked", "grid", "block",
      "shared_bytes"}},
    {"launch.",
     {"entry", "when", "grid", "block", "shared_bytes", "arguments", "cooperative", "co_resident",
      "cluster", "programmatic", "cluster_scheduling", "shared_carveout", "main", "loop", "from",
      "while", "next"}},
    {"expect.",
     {"reference", "reference_type", "grid", "block", "shared_bytes", "arguments", "compare",
      "nan_equal", "when"}},
    {"metrics", {"bytes", "operations", "estimate"}},
    {"precompiled_headers", {NULL}},
    {"verify.", {"entry", "grid", "block", "shared_bytes", "arguments"}},
    {"figures", {NULL}},
    {"loop.", {"launches", "from", "while", "next"}},
    {"constants", {NULL}},
    {"reference.",
     {"entry", "when", "grid", "block", "shared_bytes", "arguments", "loop", "from", "while",
      "next"}},
};

static bool section_is(const char *section, const char *kind)
{
    size_t length = strlen(kind);
    if (kind[length - 1] == '.')
        return strncmp(section, kind, length) == 0 && section[length] != '\0';
    return strcmp(section, kind) == 0;
}

static const struct section_kind *find_kind(const char *section)
{
    for (size_t i = 0; i < sizeof section_kinds / sizeof *section_kinds; i++)
        if (section_is(section, section_kinds[i].name))
            return &section_kinds[i];
    return NULL;
}

static void check_entries(struct loader *loader)
{
    static const char *const known[] = {
        "kernel",      "parameters",  "launch_parameters", "problem",   "buffer.NAME",
        "launch.NAME", "expect.NAME", "verify.NAME",       "metrics",   "precompiled_headers",
        "figures",     "loop.NAME",   "reference.NAME",    "constants", NULL};
    const struct ini_file *ini = &loader->template->ini;
    for (size_t i = 0; i < ini->count && !loader_failed(loader); i++) {
        const struct ini_entry *entry = &ini->entries[i];
        const struct section_kind *kind = find_kind(entry->section);
        if (kind == NULL && entry->section[0] == '\0')
            loader_fail(loader, entry->line, "key '%s' is before the first section", entry->key);
        else if (kind == NULL)
            loader_fail_unknown(loader, entry->line, "section", entry->section, known);
        else if (entry->key != NULL && kind->keys[0] != NULL && !names_have(kind->keys, entry->key))
            loader_fail_unknown(loader, entry->line, "key", entry->key, kind->keys);
    }
}

/* --- finding templates --- */

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
        found = find_kind(ini.entries[i].section) != NULL;
    ini_file_release(&ini);
    return found;
}

static int is_ini(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ini") == 0;
}

/* Adds the names of the templates in `folder`. */
static void add_templates(const char *folder, char ***names, size_t *found)
{
    struct dirent **files = NULL;
    int count = scandir(folder, &files, is_ini, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = alloc_format("%s/%s", folder, files[i]->d_name);
        if (template_is_one(path))
            *ARRAY_APPEND(*names, *found) =
                alloc_string_n(files[i]->d_name, strlen(files[i]->d_name) - 4);
        free(path);
        free(files[i]);
    }
    free(files);
}

/* The template in `folder` whose name is nearest to `name`; a new string, or NULL. */
static char *find_nearest(const char *folder, const char *name)
{
    char **names = NULL;
    size_t count = 0;
    add_templates(folder, &names, &count);
    size_t found = count;
    *ARRAY_APPEND(names, count) = NULL;
    char *nearest = alloc_string(suggestion_nearest(name, (const char *const *)names));
    for (size_t i = 0; i < found; i++)
        free(names[i]);
    free(names);
    return nearest;
}

#ifndef AUTOTUNE_DATADIR
#define AUTOTUNE_DATADIR "/usr/local/share/autotune/kernel_templates"
#endif
#ifndef AUTOTUNE_DATADIR_FROM_BINDIR
#define AUTOTUNE_DATADIR_FROM_BINDIR "../share/autotune/kernel_templates"
#endif

/* The folder of the templates that were installed with this program: where the installation put it relative
 * to the program, even if both were moved; if it does not exist, the folder that the build was configured
 * for. A new string. */
static char *installed_templates(void)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
        *strrchr(program, '/') = '\0'; /* the kernel's answer is absolute */
        char *folder = alloc_format("%s/" AUTOTUNE_DATADIR_FROM_BINDIR, program);
        char *real = realpath(folder, NULL);
        free(folder);
        if (real != NULL)
            return real;
    }
    return alloc_string(AUTOTUNE_DATADIR);
}

/* The folders to look in, in this order: a new array of new strings. */
static char **list_folders(const struct template_search *search, size_t *count)
{
    char *installed = installed_templates();
    const char *const usual[] = {search->usual, ".", "kernels", installed};
    char **listed = NULL;
    size_t found = search->folder != NULL ? text_split(search->folder, ',', &listed) : 4;
    char **folders = NULL;
    *count = 0;
    for (size_t i = 0; i < found; i++) {
        const char *folder = listed != NULL ? listed[i] : usual[i];
        *ARRAY_APPEND(folders, *count) =
            search->beside != NULL ? path_beside(search->beside, folder) : alloc_string(folder);
    }
    free(installed);
    free(listed);
    return folders;
}

char *template_find(const struct template_search *search, const char *name, struct error *error)
{
    size_t count;
    char **folders = list_folders(search, &count);
    char *found = NULL;
    char *other = NULL; /* of this name, but a sweep, say */
    char *nearest = NULL;
    for (size_t i = 0; i < count && found == NULL; i++) {
        char *file = alloc_format("%s/%s.ini", folders[i], name);
        if (template_is_one(file))
            found = file;
        else if (other == NULL && access(file, F_OK) == 0)
            other = file;
        else
            free(file);
    }
    for (size_t i = 0; i < count && found == NULL && other == NULL && nearest == NULL; i++)
        nearest = find_nearest(folders[i], name);
    if (found == NULL && other != NULL)
        (void)error_set(error, ERROR_CONFIG,
                        "no template '%s'; '%s' is not one, since it has no [launch.NAME] section; "
                        "name its folder with %s",
                        name, other, search->advice);
    else if (found == NULL && nearest != NULL)
        (void)error_set(error, ERROR_CONFIG, "no template '%s'; did you mean '%s'?", name, nearest);
    else if (found == NULL)
        (void)error_set(error, ERROR_CONFIG,
                        "no template '%s.ini' in '%s'%s; name its folder with %s", name,
                        search->folder != NULL ? search->folder : search->usual,
                        search->folder != NULL ? "" : " or the usual folders", search->advice);
    texts_free(folders, count);
    free(other);
    free(nearest);
    return found;
}

char **template_list(const struct template_search *search, size_t *count)
{
    size_t folder_count;
    char **folders = list_folders(search, &folder_count);
    char **names = NULL;
    *count = 0;
    for (size_t i = 0; i < folder_count; i++)
        add_templates(folders[i], &names, count);
    texts_free(folders, folder_count);
    return names;
}

/* --- gaps --- */

static const char gap_mark[] = "; TODO:";

/* The first gap of the section that begins at or before `line`, with its line; NULL if there is none.
 * `*count` is the number of gaps in the text. */
static const char *find_gap(const char *text, int line, int *gap_line, int *count)
{
    const char *gap = NULL;
    bool passed = false; /* the section's end */
    int number = 1;
    *count = 0;
    for (const char *at = text; at != NULL; number++) {
        bool is_gap = strncmp(at, gap_mark, strlen(gap_mark)) == 0;
        *count += is_gap;
        passed = passed || (*at == '[' && number > line);
        if (*at == '[' && number <= line)
            gap = NULL;
        if (!passed && gap == NULL && is_gap) {
            gap = at + strlen(gap_mark) + strspn(at + strlen(gap_mark), " \t");
            *gap_line = number;
        }
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return gap;
}

/* After an error in a section with a gap: the error is the template's gap, if it is the first, and
 * loading goes on. */
static void note_gap(struct loader *loader, int line)
{
    struct template *template = loader->template;
    int gap_line = 0;
    int count;
    if (!loader_failed(loader))
        return;
    const char *gap = find_gap(template->ini.text, line, &gap_line, &count);
    char *others = count > 1 ? alloc_format(" (one of %d in this file)", count) : alloc_string("");
    if (gap != NULL && template->gap.code == 0)
        (void)error_set_at(&template->gap, ERROR_CONFIG, template->path, gap_line,
                           "%s; fill in the place marked TODO: %.*s%s", loader->error.message,
                           (int)strcspn(gap, "\r\n"), gap, others);
    if (gap != NULL)
        loader->error = (struct error){0};
    free(others);
}

/* --- members: buffers, launches, expected results, verifiers --- */

/* Appends them with only their names and lines, because the expressions of all use the names. */
static void collect_members(struct loader *loader)
{
    struct template *template = loader->template;
    for (size_t i = 0; i < template->ini.count; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        const char *dot = strchr(entry->section, '.');
        if (entry->key != NULL || dot == NULL)
            continue;
        if (section_is(entry->section, "buffer.")) {
            loader_check_name(loader, dot + 1, entry->line);
            *ARRAY_APPEND(template->buffers, template->buffer_count) =
                (struct buffer){.name = dot + 1, .line = entry->line};
        } else if (section_is(entry->section, "launch.")) {
            loader_check_letters(loader, dot + 1, entry->line);
            *ARRAY_APPEND(template->launches, template->launch_count) =
                (struct launch){.name = dot + 1, .line = entry->line};
        } else if (section_is(entry->section, "reference.")) {
            loader_check_letters(loader, dot + 1, entry->line);
            *ARRAY_APPEND(template->references, template->reference_count) =
                (struct launch){.name = dot + 1, .line = entry->line};
        } else if (section_is(entry->section, "loop.")) {
            *ARRAY_APPEND(template->loops, template->loop_count) =
                (struct loop){.name = dot + 1, .line = entry->line};
        } else if (section_is(entry->section, "verify.")) {
            *ARRAY_APPEND(template->verifiers, template->verifier_count) =
                (struct verifier){.line = entry->line};
        } else {
            ARRAY_APPEND(template->expectations, template->expectation_count)->line = entry->line;
        }
    }
    if (template->launch_count == 0)
        loader_fail(loader, 0, "the template has no [launch.NAME] section: nothing to run");
    if (template->expectation_count + template->verifier_count == 0)
        loader_fail(loader, 0,
                    "the template has no [expect.NAME] section: nothing would be verified");
    if (template->verifier_count > 0)
        loader_check_unused(loader, "wrong", template->verifiers[0].line);
}

static void read_members(struct loader *loader)
{
    struct template *template = loader->template;
    struct buffer *buffer = template->buffers;
    struct launch *launch = template->launches;
    struct launch *reference = template->references;
    struct loop *loop = template->loops;
    struct expectation *expectation = template->expectations;
    struct verifier *verifier = template->verifiers;
    for (size_t i = 0; i < template->ini.count && !loader_failed(loader); i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key != NULL)
            continue;
        if (section_is(entry->section, "buffer."))
            loader_read_buffer(loader, entry->section, buffer++);
        else if (section_is(entry->section, "launch."))
            loader_read_launch(loader, entry->section, launch++, false);
        else if (section_is(entry->section, "reference."))
            loader_read_launch(loader, entry->section, reference++, true);
        else if (section_is(entry->section, "loop."))
            loader_read_loop(loader, entry->section, loop++);
        else if (section_is(entry->section, "expect."))
            loader_read_expectation(loader, entry->section, expectation++);
        else if (section_is(entry->section, "verify."))
            loader_read_verifier(loader, entry->section, verifier++);
        note_gap(loader, entry->line);
    }
}

static void read_constraints(struct loader *loader)
{
    struct template *template = loader->template;
    const struct names known = {.items = template->constraint_names};
    for (size_t i = 0; i < template->ini.count && !loader_failed(loader); i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key != NULL && strcmp(entry->key, "constraint") == 0)
            *ARRAY_APPEND(template->constraints, template->constraint_count) =
                loader_expression(loader, entry->value, &(struct place){entry->line, &known});
    }
}

/* --- the hash: of what is compiled and run --- */

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
            if (length == 0 || !template_is_word(text[length - 1]) || !template_is_word(*next))
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
    if ((in_kernel && strcmp(entry->key, "description") == 0) ||
        (strcmp(entry->section, "metrics") == 0 && strcmp(entry->key, "estimate") == 0))
        return;
    hash_add_text(hash, entry->section);
    hash_add_text(hash, entry->key);
    if (verbatim)
        hash_add_text(hash, entry->value);
    else
        hash_expression(hash, entry->value);
}

/* Adds the entries behind a section's heading: in the order of `keys`, or in the file's if there are
 * none, since the order of parameters is that of the tuned INI. */
static void hash_section(struct hash *hash, const struct ini_entry *heading,
                         const struct ini_entry *end, const char *const *keys)
{
    static const char *const any[] = {"", NULL};
    for (const char *const *key = *keys != NULL ? keys : any; *key != NULL; key++)
        for (const struct ini_entry *entry = heading + 1; entry < end && entry->key != NULL;
             entry++)
            if (*keys == NULL || strcmp(entry->key, *key) == 0)
                hash_entry(hash, entry);
}

/*
 * Two templates with the same hash give the same measurements: comments, the layout, the order of
 * keys, [precompiled_headers], the description and the estimate do not count. What the fills stand for does, and the
 * contents of scratch buffers' files, which an application gets with the template.
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
    fill_hash_scratch(template, hash);
    hash_finish(hash, template->hash);
}

/* --- loading --- */

/* Names first, then what uses them. */
static void load(struct loader *loader)
{
    struct template *template = loader->template;
    check_entries(loader);
    loader_read_kernel(loader);
    loader_read_parameters(loader);
    if (!loader_failed(loader))
        collect_members(loader);
    if (loader_failed(loader))
        return;
    loader_collect_names(loader);
    loader_link_loops(loader);
    loader_read_figures(loader);
    loader_read_options(loader);
    read_members(loader);
    if (loader_failed(loader))
        return;
    loader_link_verifiers(loader);
    loader_read_constants(loader);
    if (template->gap.code == 0) {
        loader_check_results(loader);
        dependencies_find(template);
    }
    loader_check_symbols(loader);
    read_constraints(loader);
    template->bytes = loader_expression_of(loader, "metrics", "bytes", &loader->grids);
    template->operations = loader_expression_of(loader, "metrics", "operations", &loader->grids);
}

/* Once its INI is read and, of a template that was sent, its source is there. */
static int load_read(struct template *template, const char *path, struct error *error)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    template->path = alloc_string(path);
    template->name = alloc_string_n(base, dot != NULL ? (size_t)(dot - base) : strlen(base));
    struct loader loader = {.template = template};
    load(&loader);
    loader_release(&loader);
    if (!loader_failed(&loader))
        return 0;
    if (error != NULL)
        *error = loader.error;
    template_release(template);
    return loader.error.code;
}

int template_load_unfinished(struct template *template, const char *path, struct error *error)
{
    *template = (struct template){0};
    int status = ini_file_read(&template->ini, path, error);
    if (status == 0)
        status = load_read(template, path, error);
    if (status == 0)
        hash_template(template);
    return status;
}

int template_load_sent(struct template *template, const char *path, const char *text,
                       const char *const *sources, size_t source_count, struct error *error)
{
    struct source *source = &template->source;
    *template = (struct template){0};
    int status = ini_file_read_text(&template->ini, path, text, error);
    if (status != 0)
        return status;
    for (size_t i = 0; i < source_count; i++)
        ARRAY_APPEND(source->files, source->file_count)->text = alloc_string(sources[i]);
    source->unit_count = source_count;
    status = load_read(template, path, error);
    source_release(source);
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
