#include "command/export_cover.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/expression_steps.h"
#include "command/export.h"
#include "template/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what the functions of a header share --- */

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

/*
 * Of expressions, as base/expression_steps.c computes them, but with real numbers alone: `*failed` is set if
 * a value cannot be computed. Through `volatile`, a product is rounded before it is added to something:
 * clang's code generator may use an FMA instruction otherwise, and no pragma forbids it.
 */
static const char helpers[] =
    "\n#ifndef AUTOTUNE_COVER_HELPERS\n#define AUTOTUNE_COVER_HELPERS\n"
    "static inline double autotune_scale(double a)\n{\n"
    "    double scale = log2(1 + fabs(a));\n"
    "    return copysign(scale > DBL_MAX_EXP ? DBL_MAX_EXP : scale, a);\n}\n"
    "static inline double autotune_product(double a, double b)\n{\n"
    "    volatile double product = a * b;\n    return product;\n}\n"
    "static inline double autotune_quotient(double a, double b, int *failed)\n{\n"
    "    *failed |= !(b > 0 || b < 0);\n    return a / b;\n}\n"
    "static inline double autotune_modulo(double a, double b, int *failed)\n{\n"
    "    double rest = fmod(a, b);\n    *failed |= !(b > 0 || b < 0);\n"
    "    return (rest > 0 && b < 0) || (rest < 0 && b > 0) ? rest + b : rest;\n}\n"
    "static inline double autotune_min(double a, double b)\n{\n    return b < a ? b : a;\n}\n"
    "static inline double autotune_max(double a, double b)\n{\n    return b > a ? b : a;\n}\n"
    "static inline double autotune_whole(double a, double least, int *failed)\n{\n"
    "    *failed |= !(a >= least && a <= floor(a));\n    return a;\n}\n"
    "static inline double autotune_ceil_div(double a, double b, int *failed)\n{\n"
    "    double rest = fmod(autotune_whole(a, 0, failed), autotune_whole(b, 1, failed));\n"
    "    return (a - rest) / b + (rest > 0);\n}\n"
    "static inline double autotune_round_up(double a, double b, int *failed)\n{\n"
    "    return autotune_ceil_div(a, b, failed) * b;\n}\n"
    "static inline double autotune_log2_floor(double a, int *failed)\n{\n"
    "    int exponent;\n    frexp(autotune_whole(a, 1, failed), &exponent);\n"
    "    return exponent - 1;\n}\n"
    "static inline double autotune_log2_ceil(double a, int *failed)\n{\n"
    "    int exponent;\n    double half = frexp(autotune_whole(a, 1, failed), &exponent);\n"
    "    return half > 0.5 ? exponent : exponent - 1;\n}\n#endif\n";

/* --- expressions as C --- */

/* An operand: what C computes it with, or a word. */
struct operand {
    enum { NUMBER, CONDITION, WORD, CHOICE } kind; /* CHOICE: `condition and text`, before `or` */
    char *text;
    char *condition; /* of CHOICE */
};

struct translation {
    const struct cover *cover;
    const struct cover_condition *condition;
    const struct cover_configuration *configuration; /* NULL: what the condition names is of none */
    const struct steps *steps;
    struct operand stack[STEPS_STACK_LIMIT + 1];
    size_t depth;
};

/* Puts `text`, which the stack then owns. */
static void push(struct translation *to, int kind, char *text)
{
    struct operand *operand = &to->stack[to->depth++];
    operand->kind = kind;
    operand->text = text;
    operand->condition = NULL;
}

static struct operand pop(struct translation *to)
{
    return to->stack[--to->depth];
}

/* Puts "failed": what the expression asks for cannot be computed. */
static void push_failed(struct translation *to)
{
    push(to, CONDITION, alloc_string("(failed = 1, 0)"));
}

static char *number_text(double number)
{
    char buffer[VALUE_TEXT_BYTES];
    return alloc_string(isinf(number) ? (number > 0 ? "HUGE_VAL" : "(-HUGE_VAL)")
                                      : value_exact_text(value_real(number), buffer));
}

static void push_value(struct translation *to, const struct value *value)
{
    if (value->kind == VALUE_WORD)
        push(to, WORD, alloc_string(value->as.word));
    else if (value->kind == VALUE_BOOLEAN)
        push(to, CONDITION, alloc_string(value->as.boolean ? "1" : "0"));
    else
        push(to, NUMBER, number_text(number_real(value)));
}

static void push_name(struct translation *to, const struct cover_name *name)
{
    struct value value;
    int compiled;
    switch (name->kind) {
    case COVER_RANGE:
        push(to, NUMBER, alloc_format("problem_%s", to->cover->ranges[name->index].name));
        return;
    case COVER_SM_COUNT:
        push(to, NUMBER, alloc_string("sm_count"));
        return;
    case COVER_FIXED:
    case COVER_PARAMETER:
        value =
            cover_value(name->kind == COVER_FIXED ? &to->cover->fixed[name->index]
                                                  : &to->configuration->parameters[name->index]);
        push_value(to, &value);
        return;
    case COVER_REGISTERS:
    case COVER_BLOCKS_PER_SM:
        compiled = name->kind == COVER_REGISTERS ? to->configuration->registers
                                                 : to->configuration->blocks_per_sm;
        if (compiled > 0)
            push(to, NUMBER, alloc_format("%d.0", compiled));
        else
            push_failed(to);
        return;
    }
}

/* The topmost operand as a condition; a new string. */
static char *pop_condition(struct translation *to)
{
    struct operand operand = pop(to);
    bool truth;
    if (operand.kind == CONDITION)
        return operand.text;
    if (operand.kind == WORD && steps_truth(operand.text, &truth)) {
        free(operand.text);
        return alloc_string(truth ? "1" : "0");
    }
    if (operand.kind == CHOICE) { /* both are conditions, or it fails */
        char *both = alloc_format("(%s && %s)", operand.condition, operand.text);
        free(operand.condition);
        free(operand.text);
        return both;
    }
    free(operand.text);
    return alloc_string("(failed = 1, 0)");
}

static void push_comparison(struct translation *to, enum operation operation,
                            const struct operand *left, const struct operand *right)
{
    static const char *const signs[] = {
        [DO_EQUAL] = "==",      [DO_DIFFERENT] = "!=", [DO_LESS] = "<",
        [DO_LESS_EQUAL] = "<=", [DO_GREATER] = ">",    [DO_GREATER_EQUAL] = ">="};
    if (left->kind == WORD && right->kind == WORD) {
        int order = strcmp(left->text, right->text);
        push(to, CONDITION, alloc_format("(%d %s 0)", order, signs[operation]));
    } else if (left->kind == right->kind && (left->kind == NUMBER || operation < DO_LESS)) {
        push(to, CONDITION, alloc_format("(%s %s %s)", left->text, signs[operation], right->text));
    } else if (operation < DO_LESS) {
        push(to, CONDITION, alloc_string(operation == DO_EQUAL ? "0" : "1"));
    } else {
        push_failed(to);
    }
}

/* Operations and functions on numbers in C: what stands before, between and behind their operands. */
static const struct notation {
    const char *before, *between, *behind;
} notations[] = {
    [DO_ADD] = {"(", " + ", ")"},
    [DO_SUBTRACT] = {"(", " - ", ")"},
    [DO_MULTIPLY] = {"autotune_product(", ", ", ")"},
    [DO_DIVIDE] = {"autotune_quotient(", ", ", ", &failed)"},
    [DO_FLOOR_DIVIDE] = {"floor(autotune_quotient(", ", ", ", &failed))"},
    [DO_MODULO] = {"autotune_modulo(", ", ", ", &failed)"},
    [DO_POWER] = {"pow(", ", ", ")"},
};

static const struct {
    const char *name;
    struct notation notation;
} functions[] = {
    {"min", {"autotune_min(", ", ", ")"}},
    {"max", {"autotune_max(", ", ", ")"}},
    {"abs", {"fabs(", "", ")"}},
    {"floor", {"floor(", "", ")"}},
    {"ceil", {"ceil(", "", ")"}},
    {"ceil_div", {"autotune_ceil_div(", ", ", ", &failed)"}},
    {"round_up", {"autotune_round_up(", ", ", ", &failed)"}},
    {"log2_floor", {"autotune_log2_floor(", "", ", &failed)"}},
    {"log2_ceil", {"autotune_log2_ceil(", "", ", &failed)"}},
};

/* Puts the result of the topmost `count` operands, those of more than two from left to right. */
static void push_result(struct translation *to, const struct notation *notation, size_t count)
{
    const struct operand *operands = &to->stack[to->depth - count];
    bool numbers = operands[0].kind == NUMBER;
    char *text = count > 1
                     ? alloc_string(operands[0].text)
                     : alloc_format("%s%s%s", notation->before, operands[0].text, notation->behind);
    for (size_t i = 1; i < count; i++) {
        char *longer = alloc_format("%s%s%s%s%s", notation->before, text, notation->between,
                                    operands[i].text, notation->behind);
        numbers = numbers && operands[i].kind == NUMBER;
        free(text);
        text = longer;
    }
    for (size_t i = 0; i < count; i++)
        free(pop(to).text);
    if (numbers) {
        push(to, NUMBER, text);
        return;
    }
    free(text);
    push_failed(to);
}

static void push_call(struct translation *to, const struct step *step)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, step->as.function->name) == 0) {
            push_result(to, &functions[i].notation, step->count);
            return;
        }
    push_failed(to); /* a function that this file does not know */
}

static void push_binary(struct translation *to, enum operation operation)
{
    if (operation < DO_EQUAL) {
        push_result(to, &notations[operation], 2);
        return;
    }
    struct operand right = pop(to);
    struct operand left = pop(to);
    push_comparison(to, operation, &left, &right);
    free(left.text);
    free(right.text);
}

static void push_choice(struct translation *to, char *condition, struct operand chosen,
                        struct operand other)
{
    if (chosen.kind == other.kind && chosen.kind != WORD)
        push(to, chosen.kind, alloc_format("(%s ? %s : %s)", condition, chosen.text, other.text));
    else
        push_failed(to);
    free(condition);
    free(chosen.text);
    free(other.text);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the parser of expressions allows */
static void translate(struct translation *to, size_t from, size_t end);

/* Puts what a step that may jump computes from the topmost operand and from the steps that it may leave
 * out. Returns the first step behind these. */
static size_t translate_branch(struct translation *to, size_t at)
{
    const struct step *step = &to->steps->items[at];
    size_t end = step->index;
    if (step->operation == DO_BRANCH) {
        char *condition = pop_condition(to);
        translate(to, at + 1, end - 1);
        struct operand chosen = pop(to);
        size_t last = to->steps->items[end - 1].index; /* of the jump over the other alternative */
        translate(to, end, last);
        push_choice(to, condition, chosen, pop(to));
        return last;
    }
    if (step->operation == DO_CHOSEN && to->stack[to->depth - 1].kind == CHOICE) {
        struct operand choice = pop(to);
        translate(to, at + 1, end);
        push_choice(to, choice.condition, (struct operand){NUMBER, choice.text, NULL}, pop(to));
        return end;
    }
    char *left = pop_condition(to);
    translate(to, at + 1, end);
    struct operand right = to->stack[to->depth - 1];
    if (step->operation == DO_AND && right.kind == NUMBER) {
        to->stack[to->depth - 1] = (struct operand){CHOICE, right.text, left};
        return end;
    }
    char *condition = pop_condition(to);
    push(to, CONDITION,
         alloc_format(step->operation == DO_AND ? "(%s && %s)" : "(%s || %s)", left, condition));
    free(condition);
    free(left);
    return end;
}

static void push_not(struct translation *to)
{
    char *condition = pop_condition(to);
    push(to, CONDITION, alloc_format("!%s", condition));
    free(condition);
}

/* Puts what the steps up to before `end` compute. */
static void translate(struct translation *to, size_t from, size_t end)
{
    while (from < end) {
        const struct step *step = &to->steps->items[from];
        if (step->source == FROM_NAME)
            push_name(to, &to->condition->names[step->index]);
        else if (step->source == FROM_CONSTANT)
            push_value(to, &step->as.constant);
        if (step->operation <= DO_GREATER_EQUAL)
            push_binary(to, step->operation);
        else if (step->operation == DO_NEGATE)
            push_result(to, &(struct notation){"(-", "", ")"}, 1);
        else if (step->operation == DO_NOT)
            push_not(to);
        else if (step->operation == DO_CONDITION)
            push(to, CONDITION, pop_condition(to));
        else if (step->operation == DO_CALL)
            push_call(to, step);
        else if (step->operation != DO_LOAD) {
            from = translate_branch(to, from);
            continue;
        }
        from++;
    }
}
/* NOLINTEND(misc-no-recursion) */

/* A condition of the cover in C, which may set "failed"; a new string. */
static char *condition_text(const struct cover *cover, const struct cover_condition *condition,
                            const struct cover_configuration *configuration)
{
    struct translation to = {.cover = cover,
                             .condition = condition,
                             .configuration = configuration,
                             .steps = expression_steps(condition->expression)};
    translate(&to, 0, to.steps->count);
    return pop_condition(&to);
}

/* --- the function --- */

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

/* Leaves the function outside the range. */
static void put_range(FILE *stream, const struct cover *cover)
{
    for (size_t i = 0; i < cover->public.range_count; i++) {
        const struct tuned_range *range = &cover->ranges[i];
        char *low = number_text(range->low);
        char *high = number_text(range->high);
        fprintf(stream, "    if (!(problem_%s >= %s && problem_%s <= %s))\n        return 0;\n",
                range->name, low, range->name, high);
        free(low);
        free(high);
    }
    if (cover->constraint.text == NULL)
        return;
    char *text = condition_text(cover, &cover->constraint, NULL);
    put_comment(stream, cover->constraint.text);
    fprintf(stream, "    if (!%s || failed)\n        return 0;\n", text);
    free(text);
}

/* Which configurations the constraints allow. */
static void put_allowed(FILE *stream, const struct cover *cover)
{
    fprintf(stream, "    int allowed[%zu];\n", cover->public.count);
    for (size_t i = 0; i < cover->allowed_count; i++)
        put_comment(stream, cover->allowed[i].text);
    for (size_t i = 0; i < cover->public.count; i++) {
        fprintf(stream, "    allowed[%zu] = 1;\n", i);
        for (size_t j = 0; j < cover->allowed_count; j++) {
            char *text = condition_text(cover, &cover->allowed[j], &cover->configurations[i]);
            fprintf(stream,
                    "    failed = 0;\n    allowed[%zu] = allowed[%zu] && %s;\n"
                    "    allowed[%zu] = allowed[%zu] && !failed;\n",
                    i, i, text, i, i);
            free(text);
        }
    }
}

/* The measured sizes, and the search for the nearest. */
static void put_choice(FILE *stream, const struct cover *cover)
{
    const size_t ranges = cover->public.range_count;
    fprintf(stream,
            "    /* s(x) of each measured size, and its fastest configuration */\n"
            "    static const struct { double scales[%zu]; int fastest; } sizes[] = {\n",
            ranges);
    for (size_t i = 0; i < cover->public.size_count; i++) {
        fputs("        {{", stream);
        for (size_t j = 0; j < ranges; j++)
            fprintf(stream, "%s%.17g", j > 0 ? ", " : "", cover->scales[i * ranges + j]);
        fprintf(stream, "}, %zu},\n", cover->public.sizes[i].fastest + 1);
    }
    fprintf(stream,
            "    };\n    double scales[%zu];\n    double least = HUGE_VAL;\n    int nearest = 0;\n",
            ranges);
    for (size_t i = 0; i < ranges; i++)
        fprintf(stream, "    scales[%zu] = autotune_scale(problem_%s);\n", i,
                cover->ranges[i].name);
    fprintf(stream,
            "    for (int i = 0; i < %zu; i++) {\n        double distance = 0;\n"
            "        for (int j = 0; j < %zu; j++)\n"
            "            distance += fabs(sizes[i].scales[j] - scales[j]);\n"
            "        if (!(distance < least) || !allowed[sizes[i].fastest - 1])\n"
            "            continue;\n"
            "        least = distance;\n        nearest = sizes[i].fastest;\n    }\n"
            "    return nearest;\n",
            cover->public.size_count, ranges);
}

static void put_function(FILE *stream, const char *name, const struct tuned_entry *entry)
{
    const struct cover *cover = entry->cover;
    fprintf(stream, "static inline int %s(", name);
    for (size_t i = 0; i < cover->public.range_count; i++)
        fprintf(stream, "double problem_%s, ", cover->ranges[i].name);
    fputs("double sm_count)\n{\n    int failed = 0;\n", stream);
    fprintf(stream, "    if (!(sm_count > 0))\n        sm_count = %d;\n", entry->sm_count);
    put_range(stream, cover);
    put_allowed(stream, cover);
    put_choice(stream, cover);
    fputs("}\n", stream);
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

/* Writes cover `number` of the kernel: its configurations, and the function that chooses. */
static void write_cover(FILE *stream, const struct tuned_configuration *first,
                        const struct tuned_entry *entry, size_t number)
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
    put_function(stream, name, entry);
    free(name);
}

int export_covers(FILE *stream, const struct command_query *query, const struct tuned_file *tuned,
                  size_t index, struct error *error)
{
    const struct tuned_table *table = query->table;
    const char *kernel = tuned_at(table, index)->kernel;
    const struct tuned_configuration *next;
    size_t number = 0;
    for (; (next = tuned_at(table, index)) != NULL; index++) {
        if (strcmp(next->kernel, kernel) != 0)
            break;
        if (next->number != 1 || !export_takes(query, next))
            continue;
        const struct tuned_entry *entry = entry_of(tuned, next, error);
        if (entry == NULL)
            return ERROR_CONFIG;
        if (number++ == 0) {
            begin_exact(stream);
            fputs(helpers, stream);
        }
        write_cover(stream, next, entry, number);
    }
    if (number > 0)
        end_exact(stream);
    return 0;
}
