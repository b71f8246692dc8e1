#include "command/cover_figures.h"

#include "base/alloc.h"
#include "template/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const cover_figures[COVER_RULE_FIGURES] = {"waves", "tail", "elements_per_thread"};
const char *const cover_queues[COVER_QUEUES] = {"busiest_sm", "whole_waves", "filled_waves"};
const char cover_share[] = "tile_share";
const char cover_parts[] = "further_parts";

/* --- which launches take place --- */

enum taking_place { ALWAYS, NEVER, SOMETIMES };

/* Whether a launch takes place for one candidate at one size: 1, 0, or negative if that cannot be
 * told from their values. */
static int takes_place(const struct cover_session *session, const struct launch *launch,
                       size_t candidate, size_t size)
{
    struct bindings device = {0};
    struct bindings problem = {0};
    bool holds = false;
    gpu_bindings(&cover_session_study(session)->environment.gpu, &device);
    problem_range_bind(&session->range, sizes_at(&session->sizes, size), &problem);
    const struct scope attributes = {.bindings = &device};
    const struct scope values = {.bindings = &problem, .outer = &attributes};
    const struct scope scope = {.bindings = &session->candidates.items[candidate],
                                .outer = &values};
    int status = expression_boolean(launch->when, &scope, &holds, NULL);
    bindings_release(&device);
    bindings_release(&problem);
    return status != 0 ? status : holds;
}

/* For `count` candidates. */
static enum taking_place when_of(const struct cover_session *session, const struct launch *launch,
                                 const size_t *chosen, size_t count)
{
    size_t holding = 0;
    size_t total = count * session->sizes.count;
    if (launch->when == NULL)
        return ALWAYS;
    for (size_t i = 0; i < total; i++) {
        size_t candidate = chosen != NULL ? chosen[i % count] : i % count;
        int holds = takes_place(session, launch, candidate, i / count);
        if (holds < 0)
            return SOMETIMES;
        holding += (size_t)holds;
    }
    return holding == total ? ALWAYS : holding == 0 ? NEVER : SOMETIMES;
}

/* The expression's text on one line; a new string. */
static char *one_line(const struct expression *expression)
{
    const char *from = expression_text(expression);
    char *text = alloc_zeroed(strlen(from) + 1, 1);
    size_t length = 0;
    for (; *from != '\0'; from++) {
        bool blank = isspace((unsigned char)*from) != 0;
        if (!blank || (length > 0 && text[length - 1] != ' '))
            text[length++] = (char)(blank ? ' ' : *from);
    }
    return text;
}

/* --- figures of the template --- */

static bool is_named_by(const struct template_figure *figure, struct expression *const *expressions,
                        size_t count)
{
    bool named = false;
    for (size_t i = 0; i < count && !named; i++)
        named = template_figure_is_named(figure, expression_text(expressions[i]));
    return named;
}

/* Whether the extents of a launch that takes place name a figure, or the condition for that. */
static bool launches_need(const struct template *template, const enum taking_place *when,
                          const struct template_figure *figure)
{
    bool needed = false;
    for (size_t i = 0; i < template->launch_count && !needed; i++) {
        const struct launch *launch = &template->launches[i];
        needed =
            when[i] != NEVER && (is_named_by(figure, launch->grid, launch->grid_count) ||
                                 is_named_by(figure, launch->block, launch->block_count) ||
                                 is_named_by(figure, &launch->when, when[i] == SOMETIMES ? 1 : 0));
    }
    return needed;
}

/* How a template says how much work a block has. */
static const char own_elements[] = "elements";

/* Adds the figures that these launches, or figures that they need, name; and what a block has to do. */
static void add_template_figures(struct cover_entry *cover, const struct template *template,
                                 const enum taking_place *when)
{
    const struct template_figure *figures = template->figures;
    bool *needed = alloc_zeroed(template->figure_count + 1, sizeof *needed);
    for (size_t i = template->figure_count; i-- > 0;) {
        needed[i] = launches_need(template, when, &figures[i]) ||
                    strcmp(figures[i].name, own_elements) == 0;
        for (size_t j = i + 1; j < template->figure_count && !needed[i]; j++)
            needed[i] = needed[j] && is_named_by(&figures[i], &figures[j].expression, 1);
    }
    for (size_t i = 0; i < template->figure_count; i++) {
        if (!needed[i])
            continue;
        char *text = one_line(figures[i].expression);
        cover_entry_add_figure(cover, figures[i].name, text);
        free(text);
    }
    free(needed);
}

/* A template may have a figure of that name, which then counts. */
static void add_own_figure(struct cover_entry *cover, const char *name, const char *text)
{
    if (!cover_entry_has_figure(cover, name))
        cover_entry_add_figure(cover, name, text);
}

/* --- tiles --- */

/* The first "ceil_div(AXIS, …)" in a text: how many tiles that value is cut into. A new string; NULL if
 * there is none. */
static char *division_of(const char *text, const char *axis)
{
    static const char call[] = "ceil_div(";
    size_t letters = strlen(axis);
    for (const char *at = text; (at = strstr(at, call)) != NULL; at++) {
        const char *value = at + strlen(call);
        const char *end = value + strcspn(value, "(),");
        if (strncmp(value, axis, letters) != 0 || value + letters != end || *end != ',')
            continue;
        end = end + 1 + strcspn(end + 1, "(),");
        if (*end == ')')
            return alloc_format("%.*s", (int)(end + 1 - at), at);
    }
    return NULL;
}

/* The same in the figures of a template, or the extents of any launch that takes place. */
static char *division_in_launches(const struct template *template, const enum taking_place *when,
                                  const char *axis)
{
    char *division = NULL;
    for (size_t i = 0; i < template->figure_count && division == NULL; i++)
        division = division_of(expression_text(template->figures[i].expression), axis);
    for (size_t i = 0; i < template->launch_count; i++)
        for (size_t j = 0;
             when[i] != NEVER && j < template->launches[i].grid_count && division == NULL; j++) {
            char *text = one_line(template->launches[i].grid[j]);
            division = division_of(text, axis);
            free(text);
        }
    return division;
}

/* "ceil_div(m, tile_m) * ceil_div(n, tile_n)": what a kernel pads its work to. A new string; NULL if it
 * cuts no value into tiles. */
static char *tiles_text(const struct cover_session *session, const enum taking_place *when)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    char *text = NULL;
    for (size_t i = 0; i < session->sizes.axes; i++) {
        char *division = division_in_launches(&kernel->template, when, kernel->cover.axes[i].name);
        if (division == NULL)
            continue;
        char *longer =
            text != NULL ? alloc_format("%s * %s", text, division) : alloc_string(division);
        free(division);
        free(text);
        text = longer;
    }
    return text;
}

/* --- parts that expressions share --- */

static const char slots[] = "sm_count * blocks_per_sm";

static bool is_of_name(char letter)
{
    return isalnum((unsigned char)letter) != 0 || letter == '_';
}

/* Whether a product may be taken as one value where it is: nothing divides by its first factor alone, and
 * its ends are not parts of longer names. */
static bool is_whole(const char *text, const char *at, size_t length)
{
    const char *next = at + length + strspn(at + length, " ");
    if (is_of_name(at[length]) || (at > text && is_of_name(at[-1])))
        return false;
    while (at > text && at[-1] == ' ')
        at--;
    return (at == text || strchr("/%^", at[-1]) == NULL) && *next != '^';
}

/* Puts a figure's name in place of its expression; takes over `text`. Lines have to be short. */
static char *name_part(char *text, const char *part, const char *name)
{
    size_t length = part != NULL ? strlen(part) : 0;
    size_t from = 0;
    const char *at;
    while (length > 0 && (at = strstr(text + from, part)) != NULL) {
        from = (size_t)(at - text);
        if (!is_whole(text, at, length)) {
            from += length;
            continue;
        }
        char *shorter = alloc_format("%.*s%s%s", (int)from, text, name, at + length);
        from += strlen(name);
        free(text);
        text = shorter;
    }
    return text;
}

/* --- extents --- */

/* Names what a long expression repeats, so that its line becomes short enough. Takes over `text`. */
static char *shorten(struct cover_entry *cover, char *text, const char *tiles)
{
    enum { LONG = 120 };
    if (strlen(text) <= LONG)
        return text;
    text = name_part(text, tiles, "tiles");
    if (strstr(text, slots) == NULL)
        return text;
    if (!cover_entry_has_figure(cover, "slots"))
        cover_entry_add_figure(cover, "slots", slots);
    return name_part(text, slots, "slots");
}

/* `own`, or "(when) ? own : (rest)" if the launch does not always take place. Takes over both. */
static char *prefer(const struct launch *launch, enum taking_place when, char *own, char *rest)
{
    char *text = own;
    if (when == SOMETIMES) {
        char *condition = one_line(launch->when);
        text = alloc_format("(%s) ? %s : (%s)", condition, own, rest);
        free(condition);
        free(own);
    }
    free(rest);
    return text;
}

/* A launch's extent. If it is not simple, and only one of several, it becomes a figure of its own:
 * lines have to be short. A new string. */
static char *launch_extent(struct cover_entry *cover, const struct launch *launch,
                           enum taking_place when, bool grid, size_t dimension, const char *tiles)
{
    enum { SIMPLE = 40 };
    struct expression *const *extents = grid ? launch->grid : launch->block;
    size_t count = grid ? launch->grid_count : launch->block_count;
    char *text = dimension < count ? one_line(extents[dimension]) : alloc_string("1");
    text = shorten(cover, text, tiles);
    if (when == ALWAYS || strlen(text) <= SIMPLE)
        return text;
    char *name =
        alloc_format("%s_%c_%s", grid ? "grid" : "block", "xyz"[dimension], launch -> name);
    cover_entry_add_figure(cover, name, text);
    free(text);
    return name;
}

/*
 * Extent `dimension` of the grid or the block of the main launch: of the first launch that is marked
 * as main and takes place, or else of the first that takes place. A new string; NULL if it is 1
 * everywhere.
 */
static char *extent_text(struct cover_entry *cover, const struct template *template,
                         const enum taking_place *when, bool grid, size_t dimension,
                         const char *tiles)
{
    char *text = alloc_string("1");
    bool stated = false;
    for (int main = 0; main <= 1; main++)
        for (size_t i = template->launch_count; i-- > 0;) {
            const struct launch *launch = &template->launches[i];
            if (launch->main != (main != 0) || when[i] == NEVER)
                continue;
            stated = stated || dimension < (grid ? launch->grid_count : launch->block_count);
            text = prefer(launch, when[i],
                          launch_extent(cover, launch, when[i], grid, dimension, tiles), text);
        }
    if (stated)
        return text;
    free(text);
    return NULL;
}

/* "grid_x * grid_y", with a figure for each; a new string. */
static char *add_extents(struct cover_entry *cover, const struct template *template,
                         const enum taking_place *when, bool grid, const char *tiles)
{
    char *product = NULL;
    for (size_t i = 0; i < 3; i++) {
        char *text = extent_text(cover, template, when, grid, i, tiles);
        if (text == NULL)
            continue;
        char *name = alloc_format("%s_%c", grid ? "grid" : "block", "xyz"[i]);
        cover_entry_add_figure(cover, name, text);
        char *longer =
            product != NULL ? alloc_format("%s * %s", product, name) : alloc_string(name);
        free(product);
        product = longer;
        free(name);
        free(text);
    }
    return product != NULL ? product : alloc_string("1");
}

static char *product_of_axes(const struct cover_session *session)
{
    char *text = NULL;
    for (size_t i = 0; i < session->sizes.axes; i++) {
        const char *name = session->range.kernel->cover.axes[i].name;
        char *longer = text != NULL ? alloc_format("%s * %s", text, name) : alloc_string(name);
        free(text);
        text = longer;
    }
    return text;
}

void cover_figures_add(struct cover_entry *cover, const struct cover_session *session,
                       const size_t *chosen, size_t count)
{
    const struct template *template = &session->range.kernel->template;
    enum taking_place *when = alloc_zeroed(template->launch_count, sizeof *when);
    for (size_t i = 0; i < template->launch_count; i++)
        when[i] = when_of(session, &template->launches[i], chosen, count);
    add_template_figures(cover, template, when);
    char *axes = product_of_axes(session);
    char *tiles = tiles_text(session, when);
    if (tiles != NULL)
        add_own_figure(cover, "tiles", tiles);
    char *blocks = add_extents(cover, template, when, true, tiles);
    char *threads = add_extents(cover, template, when, false, tiles);
    char *elements = alloc_format("%s / blocks", axes);
    add_own_figure(cover, "blocks", blocks);
    if (tiles != NULL && session->sizes.axes > 1) {
        add_own_figure(cover, cover_share, "tiles / blocks");
        add_own_figure(cover, cover_parts, "max(blocks / tiles - 1, 0)");
    }
    add_own_figure(cover, "threads", threads);
    add_own_figure(cover, cover_figures[0], "blocks / (sm_count * blocks_per_sm)");
    add_own_figure(cover, cover_figures[1], "ceil(waves) - waves");
    add_own_figure(cover, own_elements, elements);
    add_own_figure(cover, cover_figures[2], "elements / threads");
    add_own_figure(cover, cover_queues[0], "ceil(blocks / sm_count)");
    add_own_figure(cover, cover_queues[1], "ceil(waves)");
    add_own_figure(cover, cover_queues[2],
                   "whole_waves * max(0.5, min(1, busiest_sm / blocks_per_sm))");
    free(elements);
    free(tiles);
    free(axes);
    free(threads);
    free(blocks);
    free(when);
}
