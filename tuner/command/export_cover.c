#include "command/export_cover.h"

#include "base/alloc.h"
#include "base/cover_section.h"
#include "command/export.h"
#include "record/cover_choice.h"
#include "template/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How C writes an operation: what stands before, between and behind its operands. */
static const struct notation {
    size_t arity;
    const char *before, *between, *second_between, *behind;
} notations[] = {
    [DECISION_NEGATE] = {1, "(-", "", "", ")"},
    [DECISION_NOT] = {1, "(!", "", "", ")"},
    [DECISION_FLOOR] = {1, "floor(", "", "", ")"},
    [DECISION_CEIL] = {1, "ceil(", "", "", ")"},
    [DECISION_ADD] = {2, "(", " + ", "", ")"},
    [DECISION_SUBTRACT] = {2, "(", " - ", "", ")"},
    [DECISION_MULTIPLY] = {2, "autotune_product(", ", ", "", ")"},
    [DECISION_DIVIDE] = {2, "(", " / ", "", ")"},
    [DECISION_QUOTIENT] = {2, "floor(", " / ", "", ")"},
    [DECISION_REMAINDER] = {2, "autotune_remainder(", ", ", "", ")"},
    [DECISION_CEIL_DIV] = {2, "ceil(", " / ", "", ")"},
    [DECISION_MIN] = {2, "autotune_min(", ", ", "", ")"},
    [DECISION_MAX] = {2, "autotune_max(", ", ", "", ")"},
    [DECISION_EQUAL] = {2, "(", " == ", "", ")"},
    [DECISION_UNEQUAL] = {2, "(", " != ", "", ")"},
    [DECISION_LESS] = {2, "(", " < ", "", ")"},
    [DECISION_LESS_EQUAL] = {2, "(", " <= ", "", ")"},
    [DECISION_GREATER] = {2, "(", " > ", "", ")"},
    [DECISION_GREATER_EQUAL] = {2, "(", " >= ", "", ")"},
    [DECISION_AND] = {2, "(", " && ", "", ")"},
    [DECISION_OR] = {2, "(", " || ", "", ")"},
    [DECISION_SELECT] = {3, "(", " ? ", " : ", ")"},
};

/* Compilers that can be told to compute as libtuned does, whatever their options. */
#define IF_CLANG "#if defined __clang__ && __clang_major__ >= 12\n"
#define IF_GCC "#elif defined __GNUC__ && !defined __clang__ && !defined __CUDACC__\n"

static void begin_exact(FILE *stream)
{
    fputs("\n#include <float.h>\n#include <math.h>\n"
          "#if FLT_EVAL_METHOD == 2 || (FLT_EVAL_METHOD < 0 && !defined __clang__)\n"
          "#error the rule of a cover must be compiled for double arithmetic, as by -mfpmath=sse\n"
          "#endif\n" IF_CLANG
          "#pragma float_control(push)\n#pragma float_control(precise, on)\n" IF_GCC
          "#pragma GCC push_options\n#pragma GCC optimize(\"no-fast-math\")\n"
          "#elif defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__ || "
          "defined __RECIPROCAL_MATH__ || \\\n    __FINITE_MATH_ONLY__ + 0 || defined _M_FP_FAST\n"
          "#error the rule of a cover must be compiled without -ffast-math\n#endif\n",
          stream);
}

static void end_exact(FILE *stream)
{
    fputs("\n" IF_CLANG "#pragma float_control(pop)\n" IF_GCC "#pragma GCC pop_options\n#endif\n",
          stream);
}

/* Through `volatile`, a product is rounded before it is added to something: clang's code generator may
 * use an FMA instruction otherwise, and no pragma forbids it. */
static void put_helpers(FILE *stream)
{
    fputs("\n#ifndef AUTOTUNE_COVER_HELPERS\n#define AUTOTUNE_COVER_HELPERS\n"
          "static inline double autotune_product(double a, double b)\n{\n"
          "    volatile double product = a * b;\n    return product;\n}\n"
          "static inline double autotune_min(double a, double b)\n{\n    return a < b ? a : b;\n}\n"
          "static inline double autotune_max(double a, double b)\n{\n    return a > b ? a : b;\n}\n"
          "static inline double autotune_remainder(double a, double b)\n{\n"
          "    return a - autotune_product(b, floor(a / b));\n}\n#endif\n",
          stream);
}

/* A new string. */
static char *number_text(double number)
{
    char buffer[VALUE_TEXT_BYTES];
    return alloc_string(isnan(number)   ? "NAN"
                        : isinf(number) ? (number > 0 ? "INFINITY" : "(-INFINITY)")
                                        : value_exact_text(value_real(number), buffer));
}

static char *value_name(const struct cover_section *section, unsigned value)
{
    return value == section->range_count ? alloc_string("sm_count")
                                         : alloc_format("problem_%s", section->ranges[value].name);
}

/* Joins the operands at `top`, which it frees. */
static char *join(const struct notation *notation, char **top)
{
    char *joined = alloc_format("%s%s%s%s%s%s%s", notation->before, top[0], notation->between,
                                notation->arity > 1 ? top[1] : "", notation->second_between,
                                notation->arity > 2 ? top[2] : "", notation->behind);
    for (size_t i = 0; i < notation->arity; i++)
        free(top[i]);
    return joined;
}

/* A figure that several lines need becomes a variable. Returns its name and frees `value`. */
static char *put_variable(FILE *stream, unsigned number, char *value)
{
    fprintf(stream, "    const double figure_%u = %s;\n", number, value);
    free(value);
    return alloc_format("figure_%u", number);
}

/* The expression of a part of the rule: a new string. Writes the variables that it needs. */
static char *c_text(FILE *stream, const struct cover_section *section,
                    const struct cover_part *part)
{
    char *stack[DECISION_DEPTH] = {NULL};
    size_t depth = 0;
    for (size_t i = 0; i < part->count; i++) {
        const struct decision_step *step = &section->steps[part->first + i];
        if (step->operation == DECISION_PUSH) {
            stack[depth++] = number_text(step->number);
        } else if (step->operation == DECISION_VALUE) {
            stack[depth++] = value_name(section, step->value);
        } else if (step->operation == DECISION_TAKE) {
            stack[depth++] = alloc_format("figure_%u", step->value);
        } else if (step->operation == DECISION_KEEP) {
            stack[depth - 1] = put_variable(stream, step->value, stack[depth - 1]);
        } else {
            const struct notation *notation = &notations[step->operation];
            depth -= notation->arity;
            stack[depth] = join(notation, &stack[depth]);
            depth++;
        }
    }
    return stack[0];
}

/* A text of the file as a comment; nothing in it ends the comment. */
static void put_comment(FILE *stream, const char *text)
{
    fputs("    /* ", stream);
    for (; *text != '\0'; text++)
        fputc(*text == '/' && text[1] == '*'   ? '|'
              : *text == '*' && text[1] == '/' ? '|'
                                               : *text,
              stream);
    fputs(" */\n", stream);
}

static void put_range(FILE *stream, const struct cover_section *section)
{
    for (size_t i = 0; i < section->range_count; i++) {
        char *low = number_text(section->lows[i]);
        char *high = number_text(section->highs[i]);
        const char *name = section->ranges[i].name;
        fprintf(stream, "    if (!(problem_%s >= %s && problem_%s <= %s))\n        return 0;\n",
                name, low, name, high);
        free(low);
        free(high);
    }
    if (section->constraint.text == NULL)
        return;
    put_comment(stream, section->constraint.text);
    char *text = c_text(stream, section, &section->rule.constraint);
    fprintf(stream, "    if (!%s)\n        return 0;\n", text);
    free(text);
}

static void put_lines(FILE *stream, const struct cover_section *section)
{
    for (size_t i = 0; i < section->line_count; i++) {
        const struct cover_rule_text *line = &section->lines[i];
        put_comment(stream, line->text);
        if (line->condition != NULL) {
            char *text = c_text(stream, section, &section->rule.lines[i]);
            fprintf(stream, *text == '(' ? "    if %s\n    " : "    if (%s)\n    ", text);
            free(text);
        }
        fprintf(stream, "    return %zu;\n", line->configuration + 1);
    }
}

static int put_function(FILE *stream, const char *name, const struct tuned_entry *entry,
                        struct error *error)
{
    struct cover_section *section;
    int status = cover_entry_section(entry, &section, error);
    if (status == 0) {
        fprintf(stream, "static inline int %s(", name);
        for (size_t i = 0; i < section->range_count; i++)
            fprintf(stream, "double problem_%s, ", section->ranges[i].name);
        fputs("double sm_count)\n{\n", stream);
        fprintf(stream, "    if (!(sm_count > 0))\n        sm_count = %d;\n", entry->sm_count);
        put_range(stream, section);
        put_lines(stream, section);
        fputs("}\n", stream);
    }
    free(section);
    return status;
}

/* --- covers --- */

/* The entry of a configuration's section. NULL with an error if the tuner skips what libtuned does not,
 * such as a section that lacks the driver's version: left out, it would change the others' numbers. */
static const struct tuned_entry *entry_of(const struct tuned_file *tuned,
                                          const struct tuned_configuration *configuration,
                                          struct error *error)
{
    const char *section = configuration->section;
    for (size_t i = 0; i < tuned->count; i++)
        if (strcmp(tuned->entries[i].section, section) == 0 && tuned->entries[i].cover != NULL)
            return &tuned->entries[i];
    (void)error_set(error, ERROR_CONFIG, "section '%s' cannot be exported", section);
    for (size_t i = 0; i < tuned->skipped_count && error != NULL; i++)
        if (strcmp(tuned->skipped[i].section, section) == 0)
            *error = tuned->skipped[i].reason;
    return NULL;
}

/* Writes cover `number` of the kernel: its configurations and the function of its rule. */
static int write_cover(FILE *stream, const struct tuned_configuration *first,
                       const struct tuned_entry *entry, size_t number, struct error *error)
{
    const struct tuned_cover *cover = first->cover;
    char *name = alloc_format("%s_cover_%zu", first->kernel, number);
    fputs("\n/* The cover for ", stream);
    export_put_string(stream, first->gpu->name);
    for (size_t i = 0; i < first->problem_count; i++)
        fprintf(stream, ", %s=%s", first->problem[i].name, first->problem[i].text);
    fprintf(stream,
            ": %s() returns the configuration for a problem, 0 outside the range.\n * "
            "sm_count is that of the GPU at hand; 0: not known. X(configuration",
            name);
    export_put_names(stream, first->parameters, first->parameter_count);
    fputs(") */\n#define ", stream);
    export_put_upper(stream, name);
    fputs("_CONFIGURATIONS(X)", stream);
    for (size_t i = 0; i < cover->count; i++) {
        fprintf(stream, " \\\n    X(%zu", i + 1);
        export_put_values(stream, cover->configurations[i].parameters,
                          cover->configurations[i].parameter_count);
        fputc(')', stream);
    }
    fputc('\n', stream);
    int status = put_function(stream, name, entry, error);
    free(name);
    return status;
}

int export_covers(FILE *stream, const struct command_query *query, const struct tuned_file *tuned,
                  size_t index, struct error *error)
{
    const struct tuned_table *table = query->table;
    const char *kernel = tuned_at(table, index)->kernel;
    const struct tuned_configuration *next;
    size_t number = 0;
    int status = 0;
    for (; (next = tuned_at(table, index)) != NULL && status == 0; index++) {
        if (strcmp(next->kernel, kernel) != 0)
            break;
        if (next->number != 1 || !export_takes(query, next))
            continue;
        const struct tuned_entry *entry = entry_of(tuned, next, error);
        if (entry == NULL)
            return ERROR_CONFIG;
        if (number++ == 0) {
            begin_exact(stream);
            put_helpers(stream);
        }
        status = write_cover(stream, next, entry, number, error);
    }
    if (number > 0)
        end_exact(stream);
    return status;
}
