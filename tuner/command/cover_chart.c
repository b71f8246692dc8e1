#include "command/cover_chart.h"

#include "base/alloc.h"
#include "base/cover_section.h"
#include "command/cover_tuned.h"
#include "record/cover_choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const struct cover_axis *axis_of(const struct cover_session *session, size_t axis)
{
    return &session->range.kernel->cover.axes[axis];
}

/* The whole number at place `index` of `count`, from the low end of the axis to the high one. */
static double value_at(const struct cover_axis *axis, size_t index, size_t count)
{
    double share = count > 1 ? (double)index / (double)(count - 1) : 0.5;
    return round((double)axis->low * pow((double)axis->high / (double)axis->low, share));
}

static char *end_text(const struct cover_axis *axis, int64_t value)
{
    return alloc_format("%s = %" PRId64, axis->name, value);
}

static size_t choose(const struct cover_section *section, const double *values)
{
    size_t line;
    return cover_rule_decide(&section->rule, values, &line) ? section->lines[line].configuration
                                                            : COVER_PICTURE_OUTSIDE;
}

static void fill(const struct cover_session *session, const struct cover_section *section,
                 int sm_count, struct cover_picture *picture)
{
    enum { DRAWN = 3 };
    const size_t axes = session->sizes.axes;
    const size_t counts[DRAWN] = {COVER_PICTURE_COLUMNS, picture->rows, picture->slices};
    const size_t total = counts[0] * counts[1] * counts[2];
    double values[COVER_VALUES];
    picture->choices = alloc_zeroed(total, sizeof *picture->choices);
    values[axes] = sm_count;
    for (size_t place = 0; place < total; place++) {
        size_t rest = place;
        for (size_t axis = 0; axis < axes; axis++) {
            size_t count = axis < DRAWN ? counts[axis] : 1;
            values[axis] = value_at(axis_of(session, axis), rest % count, count);
            rest /= count;
        }
        picture->choices[place] = choose(section, values);
    }
}

static void name_ends(const struct cover_session *session, struct cover_picture *picture)
{
    const struct cover_axis *column = axis_of(session, 0);
    picture->column_low = end_text(column, column->low);
    picture->column_high = end_text(column, column->high);
    if (picture->rows > 1) {
        picture->row_low = end_text(axis_of(session, 1), axis_of(session, 1)->low);
        picture->row_high = end_text(axis_of(session, 1), axis_of(session, 1)->high);
    }
    for (size_t i = 0; i < picture->slices && picture->slices > 1; i++)
        picture->slice_names[i] = end_text(
            axis_of(session, 2), (int64_t)value_at(axis_of(session, 2), i, picture->slices));
}

int cover_chart(const struct cover_session *session, struct cover_picture *picture,
                struct error *error)
{
    struct tuned_entry entry;
    struct cover_section *section;
    const size_t axes = session->sizes.axes;
    *picture =
        (struct cover_picture){.configurations = session->cover.options[session->cover.best].count,
                               .rows = axes > 1 ? COVER_PICTURE_ROWS : 1,
                               .slices = axes > 2 ? COVER_PICTURE_SLICES : 1};
    cover_tuned_entry(session, &entry);
    int status = cover_entry_section(&entry, &section, error);
    if (status == 0) {
        fill(session, section, entry.sm_count, picture);
        name_ends(session, picture);
    }
    free(section);
    tuned_entry_release(&entry);
    return status;
}
