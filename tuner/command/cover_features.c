#include "command/cover_features.h"

#include "base/alloc.h"
#include "base/cover_section.h"
#include "command/cover_draft.h"
#include "command/cover_figures.h"
#include "cover/size_features.h"
#include "record/cover_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The candidates as the configurations of a cover, compiled. */
struct draft {
    const struct cover_session *session;
    struct tuned_entry entry;
    struct cover_section *section;
    double *problems; /* as a rule sees them: each size's values, then the SMs */
};

static void list_problems(struct draft *draft)
{
    const struct sizes *sizes = &draft->session->sizes;
    double *to = alloc_zeroed(sizes->count * (sizes->axes + 1), sizeof *to);
    draft->problems = to;
    for (size_t i = 0; i < sizes->count; i++) {
        for (size_t axis = 0; axis < sizes->axes; axis++)
            *to++ = (double)sizes_at(sizes, i)[axis];
        *to++ = draft->entry.sm_count;
    }
}

static int draft_init(struct draft *draft, const struct cover_session *session, struct error *error)
{
    *draft = (struct draft){.session = session};
    cover_draft_begin(&draft->entry, session);
    for (size_t i = 0; i < session->candidates.count; i++)
        cover_draft_configuration(draft->entry.cover, session, i);
    cover_figures_add(draft->entry.cover, session, NULL, session->candidates.count);
    cover_draft_complete(&draft->entry, session, sizes_at(&session->sizes, 0));
    list_problems(draft);
    return cover_entry_section(&draft->entry, &draft->section, error);
}

static void draft_release(struct draft *draft)
{
    free(draft->section);
    free(draft->problems);
    tuned_entry_release(&draft->entry);
}

/* The values of an expression for one candidate at each size; false if one cannot be computed. */
static bool evaluate(const struct draft *draft, const char *expression, size_t candidate,
                     double *results)
{
    const size_t count = draft->session->sizes.count;
    struct ini_reader ini = {0};
    cover_section_evaluate(draft->section, &ini, expression, candidate, draft->problems, count,
                           results);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(results[i]))
            return false;
    return true;
}

static bool all_same(const double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (fabs(values[i] - values[0]) > 0)
            return false;
    return true;
}

/* Unless its values are all the same. */
static void add_feature(const struct draft *draft, struct features *features, const char *text,
                        size_t candidate)
{
    size_t count = draft->session->sizes.count;
    double *values = alloc_zeroed(count, sizeof *values);
    if (evaluate(draft, text, candidate, values) && !all_same(values, count)) {
        struct feature *feature = features_add(features, text, count);
        memcpy(feature->values, values, count * sizeof *values);
        feature->configuration = candidate;
    }
    free(values);
}

/* --- terms of estimates --- */

/* Texts that are multiplied with each other. */
struct factors {
    char **items;
    size_t count;
};

static void factors_add(struct factors *factors, char *text)
{
    *(char **)ARRAY_APPEND(factors->items, factors->count) = text;
}

static void factors_release(struct factors *factors)
{
    for (size_t i = 0; i < factors->count; i++)
        free(factors->items[i]);
    free(factors->items);
}

static const char *axis_name(const struct cover_session *session, size_t axis)
{
    return session->range.kernel->cover.axes[axis].name;
}

/* "1", "m", "n", "m * n", …: memory moved, and work that any number of blocks shares. */
static void add_products(const struct cover_session *session, struct factors *factors)
{
    for (size_t set = 0; set < (size_t)1 << session->sizes.axes; set++) {
        char *text = NULL;
        for (size_t axis = 0; axis < session->sizes.axes; axis++) {
            const char *name = axis_name(session, axis);
            char *longer = text != NULL ? alloc_format("%s * %s", text, name) : alloc_string(name);
            if ((set >> axis & 1) == 0) {
                free(longer);
                continue;
            }
            free(text);
            text = longer;
        }
        factors_add(factors, text != NULL ? text : alloc_string("1"));
    }
}

/* What a block may have to do, for each of the blocks that the busiest SM has, or of the waves. */
static void add_work_of_blocks(const struct draft *draft, struct factors *factors)
{
    const struct cover_session *session = draft->session;
    bool has_share = cover_entry_has_figure(draft->entry.cover, cover_share);
    for (size_t i = 0; i < COVER_QUEUES; i++) {
        factors_add(factors, alloc_string(cover_queues[i]));
        factors_add(factors, alloc_format("%s * elements", cover_queues[i]));
        for (size_t axis = 0; axis < session->sizes.axes && session->sizes.axes > 1; axis++)
            factors_add(factors,
                        alloc_format("%s%s%s * %s", cover_queues[i], has_share ? " * " : "",
                                     has_share ? cover_share : "", axis_name(session, axis)));
    }
}

/* Nothing, or that rows do not begin at multiples of what a vector load has. */
static void add_alignments(const struct cover_session *session, struct factors *factors)
{
    enum { VECTOR = 4 };
    factors_add(factors, alloc_string(""));
    for (size_t axis = 0; axis < session->sizes.axes; axis++)
        factors_add(factors, alloc_format("min(%s %% %d, 1)", axis_name(session, axis), VECTOR));
}

static void add_term(const struct draft *draft, struct features *terms, const char *alignment,
                     const char *work, size_t candidate)
{
    size_t count = draft->session->sizes.count;
    char *text = alignment[0] == '\0'     ? alloc_string(work)
                 : strcmp(work, "1") == 0 ? alloc_string(alignment)
                                          : alloc_format("%s * %s", alignment, work);
    struct feature *term = features_add(terms, text, count);
    term->configuration = candidate;
    if (!evaluate(draft, text, candidate, term->values))
        memset(term->values, 0, count * sizeof *term->values);
    free(text);
}

/* What it takes to add up the parts of a tile: something at all, more for each part, and more for each
 * block. */
static void add_parts(const struct draft *draft, struct factors *factors)
{
    if (!cover_entry_has_figure(draft->entry.cover, cover_parts))
        return;
    factors_add(factors, alloc_string("blocks"));
    factors_add(factors, alloc_string(cover_parts));
    factors_add(factors, alloc_format("min(%s, 1)", cover_parts));
}

/* Work that is padded to whole tiles. */
static void add_tiles(const struct draft *draft, struct factors *factors)
{
    const struct cover_session *session = draft->session;
    if (!cover_entry_has_figure(draft->entry.cover, "tiles"))
        return;
    factors_add(factors, alloc_string("tiles"));
    for (size_t axis = 0; axis < session->sizes.axes && session->sizes.axes > 1; axis++)
        factors_add(factors, alloc_format("tiles * %s", axis_name(session, axis)));
}

static void add_terms(const struct draft *draft, struct features *terms)
{
    struct factors work = {0};
    struct factors alignments = {0};
    add_products(draft->session, &work);
    add_work_of_blocks(draft, &work);
    add_tiles(draft, &work);
    add_parts(draft, &work);
    add_alignments(draft->session, &alignments);
    for (size_t candidate = 0; candidate < draft->session->candidates.count; candidate++)
        for (size_t i = 0; i < alignments.count; i++)
            for (size_t j = 0; j < work.count; j++)
                add_term(draft, terms, alignments.items[i], work.items[j], candidate);
    factors_release(&work);
    factors_release(&alignments);
}

void cover_features_fill(struct cover_session *session)
{
    struct draft draft;
    session->no_figures = (struct error){0};
    size_features_add(&session->features, &session->range, &session->sizes);
    if (draft_init(&draft, session, &session->no_figures) == 0) {
        for (size_t candidate = 0; candidate < session->candidates.count; candidate++)
            for (size_t i = 0; i < COVER_RULE_FIGURES; i++)
                add_feature(&draft, &session->features, cover_figures[i], candidate);
        session->basis =
            (struct time_basis){.times_ns = session->work_ns, .sizes = session->sizes.count};
        add_terms(&draft, &session->basis.terms);
    }
    draft_release(&draft);
}
