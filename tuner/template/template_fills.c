#include "template/template_fills.h"

#include "base/alloc.h"
#include "base/path.h"
#include "template/template_arguments.h"
#include "template/value_list.h"

#include <stdlib.h>
#include <string.h>

/* --- each kind of fill --- */

struct fill_text {
    char **parts; /* what is between the parentheses */
    size_t count;
    const char *inner; /* all of it */
    int line;
    const struct names *known;
};

static int read_numbers(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    int status = 0;
    for (size_t i = 0; i < text->count && status == 0; i++) {
        fill->argument_count = i + 1;
        status = loader_read_expression(loader, text->parts[i], text->line, text->known,
                                        &fill->arguments[i]);
    }
    return status;
}

static int read_file(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    fill->path = path_beside(loader->template->path, text->inner);
    return 0;
}

/* The entry that kernel(...) begins with. It takes several `parts` if it is ns::fill<float, 4>. */
static char *take_entry(const char *text, size_t *parts)
{
    const char *start = text + strspn(text, " \t");
    const char *stop = start;
    int parentheses = 0;
    int angles = 0;
    *parts = 1;
    for (; *stop != '\0' && (*stop != ',' || parentheses > 0 || angles > 0); stop++) {
        parentheses += (*stop == '(') - (*stop == ')');
        angles += parentheses == 0 ? (*stop == '<') - (*stop == '>') : 0;
        *parts += parentheses == 0 && *stop == ',';
    }
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    return alloc_string_n(start, (size_t)(stop - start));
}

/* kernel(entry, arguments...) */
static int read_kernel(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    struct names known = {0};
    size_t taken;
    fill->kernel = alloc_zeroed(1, sizeof *fill->kernel);
    fill->kernel->entry = take_entry(text->inner, &taken);
    fill->kernel->lines.arguments = text->line;
    names_add_all(&known, text->known->items);
    names_add_all(&known, loader->buffers.items);
    int status = loader_append_arguments(loader, text->parts + taken, text->count - taken,
                                         text->line, &known, fill->kernel);
    free(known.items);
    return status;
}

/* border(width, fill, extents...): another fill, whose elements near an edge are 0 */
static int read_border(struct loader *loader, const struct fill_text *text, struct fill *fill)
{
    int status = loader_read_fill(loader, text->parts[1], text->line, text->known, fill);
    if (status == 0 && fill->border != NULL)
        status = loader_fail(loader, text->line, "fill 'border(%s)' has a border in a border",
                             text->inner);
    if (status == 0)
        status =
            loader_read_expression(loader, text->parts[0], text->line, text->known, &fill->border);
    for (size_t i = 2; i < text->count && status == 0; i++) {
        fill->shape_count = i - 1;
        status = loader_read_expression(loader, text->parts[i], text->line, text->known,
                                        &fill->shape[i - 2]);
    }
    return status;
}

/* To add a fill: a line here, and where fill.c and device_kernels.cu compute its elements. */
static const struct fill_word {
    const char *name;
    size_t least, most; /* arguments */
    enum fill_kind kind;
    int (*read)(struct loader *loader, const struct fill_text *text, struct fill *fill);
} fills[] = {
    {"constant", 1, 1, FILL_CONSTANT, read_numbers},
    {"uniform", 2, 3, FILL_UNIFORM, read_numbers},
    {"integers", 2, 3, FILL_INTEGERS, read_numbers},
    {"counting", 2, 2, FILL_COUNTING, read_numbers},
    {"normal", 2, 3, FILL_NORMAL, read_numbers},
    {"kernel", 1, SIZE_MAX, FILL_KERNEL, read_kernel},
    {"file", 0, SIZE_MAX, FILL_FILE, read_file},
    {"border", 2, 5, FILL_NONE, read_border},
};

/* --- together --- */

static int read_call(struct loader *loader, const char *word, struct fill_text *text,
                     struct fill *fill)
{
    size_t kind = 0;
    while (kind < sizeof fills / sizeof *fills && strcmp(fills[kind].name, word) != 0)
        kind++;
    if (kind == sizeof fills / sizeof *fills)
        return loader_fail(loader, text->line,
                           "unknown fill '%s'; expected constant, uniform, normal, integers, "
                           "counting, kernel, file or border",
                           word);
    text->count = text_split(text->inner, ',', &text->parts);
    fill->kind = fills[kind].kind;
    int status =
        text->count < fills[kind].least || text->count > fills[kind].most
            ? loader_fail(loader, text->line, "wrong number of arguments to fill '%s'", word)
            : fills[kind].read(loader, text, fill);
    text_split_release(text->parts, text->count);
    return status;
}

int loader_read_fill(struct loader *loader, const char *text, int line, const struct names *known,
                     struct fill *fill)
{
    char *copy = alloc_string(text);
    char *inner;
    fill->line = line;
    int status;
    if (split_call(copy, &inner)) {
        struct fill_text parts = {.inner = inner, .line = line, .known = known};
        status = read_call(loader, copy, &parts, fill);
    } else
        status = loader_fail(loader, line, "fill '%s' is not of the form constant(0)", text);
    free(copy);
    return status;
}
