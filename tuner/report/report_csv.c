#include "report/report_formats.h"

#include "base/text_table.h"
#include "report/columns.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void print_names(FILE *stream, const struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++)
        fprintf(stream, "%s,", bindings->items[i].name);
}

static void print_header(FILE *stream, const struct study *study)
{
    fputs("kernel,gpu,", stream);
    print_names(stream, &study->problem);
    print_names(stream, report_parameters(study));
    const char *separator = "";
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (column_rules[i].csv == NULL)
            continue;
        fprintf(stream, "%s%s", separator, column_rules[i].csv);
        separator = ",";
    }
    fputc('\n', stream);
}

/* The values of `names`, in their order. */
static void print_values(FILE *stream, const struct bindings *names, const struct bindings *values)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct value *value = bindings_find(values, names->items[i].name);
        char buffer[VALUE_TEXT_BYTES];
        if (value != NULL)
            csv_text(stream, value_text(*value, buffer));
        fputc(',', stream);
    }
}

static void print_value(FILE *stream, const struct study *study, const struct result *result,
                        enum column column)
{
    struct column_value value = {0};
    if (!column_value(column, study, result, &value))
        return;
    switch (column_rules[column].kind) {
    case COLUMN_INTEGER:
    case COLUMN_FLAG:
        fprintf(stream, "%" PRId64, value.integer);
        break;
    case COLUMN_REAL:
        fprintf(stream, "%.0f", value.real);
        break;
    case COLUMN_TIME:
        fprintf(stream, "%.4f", value.real / 1000);
        break;
    case COLUMN_SHARE:
        fprintf(stream, "%.4f", value.real);
        break;
    case COLUMN_RATE:
        fprintf(stream, "%.2f", value.real);
        break;
    case COLUMN_TEXT:
        csv_text(stream, value.text);
        break;
    case COLUMN_INTERVAL:
        break;
    }
}

static void print_result(FILE *stream, const struct study *study, const struct result *result)
{
    csv_text(stream, study->kernel);
    fputc(',', stream);
    csv_text(stream, study->environment.gpu.name);
    fputc(',', stream);
    print_values(stream, &study->problem, &study->problem);
    print_values(stream, report_parameters(study), &result->parameters);
    const char *separator = "";
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (column_rules[i].csv == NULL)
            continue;
        fputs(separator, stream);
        print_value(stream, study, result, (enum column)i);
        separator = ",";
    }
    fputc('\n', stream);
}

static bool same_names(const struct bindings *a, const struct bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0)
            return false;
    return true;
}

static bool same_columns(const struct study *a, const struct study *b)
{
    return same_names(&a->problem, &b->problem) &&
           same_names(report_parameters(a), report_parameters(b));
}

int report_csv(FILE *stream, const struct study *studies, size_t count,
               const struct report_options *options, struct error *error)
{
    (void)options;
    (void)error;
    bool uniform = true;
    for (size_t i = 1; i < count; i++)
        uniform = uniform && same_columns(&studies[0], &studies[i]);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !uniform)
            print_header(stream, &studies[i]);
        for (size_t j = 0; j < studies[i].result_count; j++)
            print_result(stream, &studies[i], &studies[i].results[j]);
    }
    return 0;
}
