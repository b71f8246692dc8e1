#include "template/template_tensor_maps.h"

#include "base/alloc.h"
#include "template/value_list.h"

#include <stdlib.h>
#include <string.h>

/* Whether the first parenthesis ends with the text. */
static bool is_tuple(const char *text)
{
    int depth = 0;
    for (const char *p = text; *p != '\0'; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p > text && p[1] == '\0';
    }
    return false;
}

/* "(k, m)", or one expression: `*count` expressions or, if it is 0, 1 to TENSOR_RANK, which sets
 * it. */
static int read_tuple(struct loader *loader, const char *text, int line, const struct names *known,
                      struct expression **expressions, size_t *count)
{
    char *copy = alloc_string(text);
    char *inner = copy;
    char **parts;
    if (is_tuple(copy)) {
        copy[strlen(copy) - 1] = '\0';
        inner = copy + 1;
    }
    size_t found = text_split(inner, ',', &parts);
    size_t least = *count > 0 ? *count : 1;
    size_t most = *count > 0 ? *count : TENSOR_RANK;
    int status = found >= least && found <= most
                     ? 0
                     : error_set_at(loader->error, ERROR_CONFIG, loader->template->path, line,
                                    "'%s' of a tensor map has %zu expressions; it takes %zu%s",
                                    text, found, least, least < most ? " to 5" : "");
    for (size_t i = 0; i < found && status == 0; i++)
        status = loader_read_expression(loader, parts[i], line, known, &expressions[i]);
    *count = found;
    text_split_release(parts, found);
    free(copy);
    return status;
}

static int read_option(struct loader *loader, const char *text, int line, const struct names *known,
                       struct tensor_map_options *options)
{
    const struct {
        const char *word;
        struct expression **expressions;
        size_t count;
    } known_options[] = {{"swizzle", &options->swizzle, 1},
                         {"interleave", &options->interleave, 1},
                         {"l2", &options->l2, 1},
                         {"strides", &options->strides[1], options->rank - 1},
                         {"steps", &options->steps[0], options->rank}};
    char *copy = alloc_string(text);
    char *inner;
    bool call = split_call(copy, &inner);
    bool known_option = !call && strcmp(text, "fill_nan") == 0;
    int status = 0;
    options->fill_nan = options->fill_nan || known_option;
    for (size_t i = 0; call && i < sizeof known_options / sizeof *known_options; i++) {
        size_t count = known_options[i].count;
        if (strcmp(copy, known_options[i].word) != 0 || count == 0)
            continue;
        known_option = true;
        status = known_options[i].expressions[0] != NULL
                     ? loader_fail(loader, line, "'%s' is given twice in a tensor map", copy)
                     : read_tuple(loader, inner, line, known, known_options[i].expressions, &count);
    }
    if (!known_option)
        status =
            loader_fail(loader, line,
                        "'%s' in a tensor map is none of swizzle(64), interleave(32), l2(256), "
                        "strides(n), steps(1, 2), fill_nan",
                        text);
    free(copy);
    return status;
}

int loader_read_tensor_map(struct loader *loader, const char *inner, int line,
                           const struct names *known, struct argument *argument)
{
    struct tensor_map_options *options = alloc_zeroed(1, sizeof *options);
    char **parts;
    size_t count = text_split(inner, ',', &parts);
    argument->kind = ARGUMENT_TENSOR_MAP;
    argument->tensor_map = options;
    int status =
        count >= 3 && names_have(loader->buffers.items, parts[0])
            ? loader_read_expression(loader, parts[0], line, known, &argument->expression)
            : loader_fail(loader, line,
                          "'tensor_map(%s)' does not name a buffer, its dimensions and a box",
                          inner);
    if (status == 0)
        status = read_tuple(loader, parts[1], line, known, options->dimensions, &options->rank);
    size_t box_rank = options->rank;
    if (status == 0)
        status = read_tuple(loader, parts[2], line, known, options->box, &box_rank);
    for (size_t i = 3; i < count && status == 0; i++)
        status = read_option(loader, parts[i], line, known, options);
    text_split_release(parts, count);
    return status;
}
