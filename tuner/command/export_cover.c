#include "command/export_cover.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/expression_steps.h"
#include "command/export.h"
#include "template/value.h"

#include <assert.h>
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
    "    return half > 0.5 ? exponent : exponent - 1;\n}\n"
    "static inline double autotune_mean(const double *values, const double *distances, int "
    "count)\n{\n"
    "    int nearest[4] = {0, 0, 0, 0}, found = 0;\n    double weights = 0, sum = 0;\n"
    "    for (int i = 0; i < count; i++) {\n        int place;\n"
    "        if (!(values[i] > 0) || (found == 4 && distances[i] >= distances[nearest[3]]))\n"
    "            continue;\n"
    "        place = found < 4 ? found++ : 3;\n"
    "        for (; place > 0 && distances[nearest[place - 1]] > distances[i]; place--)\n"
    "            nearest[place] = nearest[place - 1];\n"
    "        nearest[place] = i;\n    }\n"
    "    for (int i = 0; i < found; i++) {\n"
    "        double weight = 1 / (distances[nearest[i]] + 0.01);\n        weights += weight;\n"
    "        sum += autotune_product(weight, values[nearest[i]]);\n    }\n"
    "    return found > 0 ? sum / weights : 0;\n}\n#endif\n";

/* --- expressions as C --- */

/*
 * A value in C. Its kind is known when the header is written, but for a CHOICE, of two words or of two
 * kinds: an operation on it is a choice of the operation on either. C sees neither words nor choices of them.
 */
struct operand {
    enum { NUMBER, CONDITION, WORD, CHOICE } kind;
    const char *text; /* in C, a condition as 1 or 0; a word itself; the condition of a choice */
    const struct operand *chosen, *other; /* of CHOICE */
};

struct translation {
    const struct cover *cover;
    const struct cover_expression *expression;
    struct cover_values values;
    const struct operand *figures[COVER_FIGURES]; /* those that were translated */
    const struct operand *stack[STEPS_STACK_LIMIT + 1];
    size_t depth;
    void **kept; /* texts and operands, until the translation ends */
    size_t kept_count;
};

/* Of expressions that name what this configuration has; NULL: none. */
static struct translation translation_of(const struct cover *cover,
                                         const struct cover_configuration *configuration)
{
    static const struct value unknown[COVER_VALUES]; /* C sees its names */
    return (struct translation){.cover = cover,
                                .values = cover_values(cover, configuration, unknown)};
}

static void *keep(struct translation *to, void *memory)
{
    return *ARRAY_APPEND(to->kept, to->kept_count) = memory;
}

/* `text`, which is freed when the translation ends. */
static const struct operand *operand_new(struct translation *to, int kind, char *text)
{
    struct operand *operand = keep(to, alloc_zeroed(1, sizeof *operand));
    operand->kind = kind;
    operand->text = keep(to, text);
    return operand;
}

static void push(struct translation *to, const struct operand *operand)
{
    to->stack[to->depth++] = operand;
}

static const struct operand *pop(struct translation *to)
{
    return to->stack[--to->depth];
}

static const struct operand *constant(struct translation *to, bool truth)
{
    return operand_new(to, CONDITION, alloc_string(truth ? "1" : "0"));
}

/* What look-ups cannot compute either, such as "good" + 1. */
static const struct operand *failure(struct translation *to)
{
    return operand_new(to, CONDITION, alloc_string("(failed = 1, 0)"));
}

static char *number_text(double number)
{
    char buffer[VALUE_TEXT_BYTES];
    return alloc_string(isnan(number)   ? "(HUGE_VAL - HUGE_VAL)"
                        : isinf(number) ? (number > 0 ? "HUGE_VAL" : "(-HUGE_VAL)")
                                        : value_exact_text(value_real(number), buffer));
}

static const struct operand *value_operand(struct translation *to, const struct value *value)
{
    if (value->kind == VALUE_WORD)
        return operand_new(to, WORD, alloc_string(value->as.word));
    if (value->kind == VALUE_BOOLEAN)
        return constant(to, value->as.boolean);
    return operand_new(to, NUMBER, number_text(number_real(value)));
}

static const struct operand *name_operand(struct translation *to, const struct cover_name *name)
{
    if (name->kind == COVER_FIGURE)
        return to->figures[name->index];
    if (name->kind != COVER_PROBLEM)
        return value_operand(to, &to->values.of[name->kind][name->index]);
    return operand_new(to, NUMBER,
                       name->index < to->cover->public.range_count
                           ? alloc_format("problem_%s", to->cover->ranges[name->index].name)
                           : alloc_string("sm_count"));
}

/* `condition` is a text that is kept. */
static const struct operand *choose(struct translation *to, const char *condition,
                                    const struct operand *chosen, const struct operand *other)
{
    bool conditions = chosen->kind == CONDITION && other->kind == CONDITION;
    if (strcmp(condition, "1") == 0)
        return chosen;
    if (strcmp(condition, "0") == 0)
        return other;
    if (conditions && strcmp(other->text, "0") == 0)
        return operand_new(to, CONDITION, alloc_format("(%s && %s)", condition, chosen->text));
    if (conditions && strcmp(chosen->text, "1") == 0)
        return operand_new(to, CONDITION, alloc_format("(%s || %s)", condition, other->text));
    if (conditions || (chosen->kind == NUMBER && other->kind == NUMBER))
        return operand_new(to, chosen->kind,
                           alloc_format("(%s ? %s : %s)", condition, chosen->text, other->text));
    struct operand *choice = keep(to, alloc_zeroed(1, sizeof *choice));
    *choice = (struct operand){CHOICE, condition, chosen, other};
    return choice;
}

/* What stands before, between and behind operands that are numbers. */
struct notation {
    const char *before, *between, *behind;
};

static const struct notation operations[] = {
    [DO_ADD] = {"(", " + ", ")"},
    [DO_SUBTRACT] = {"(", " - ", ")"},
    [DO_MULTIPLY] = {"autotune_product(", ", ", ")"},
    [DO_DIVIDE] = {"autotune_quotient(", ", ", ", &failed)"},
    [DO_FLOOR_DIVIDE] = {"floor(autotune_quotient(", ", ", ", &failed))"},
    [DO_MODULO] = {"autotune_modulo(", ", ", ", &failed)"},
    [DO_POWER] = {"pow(", ", ", ")"},
    [DO_EQUAL] = {"(", " == ", ")"},
    [DO_DIFFERENT] = {"(", " != ", ")"},
    [DO_LESS] = {"(", " < ", ")"},
    [DO_LESS_EQUAL] = {"(", " <= ", ")"},
    [DO_GREATER] = {"(", " > ", ")"},
    [DO_GREATER_EQUAL] = {"(", " >= ", ")"},
    [DO_NEGATE] = {"(- ", "", ")"}, /* a blank, as the number may be negative */
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

/* Whether `operand` is a condition or a word that counts as one; its truth in C. */
static bool is_condition(const struct operand *operand, const char **truth)
{
    bool is_true = false;
    bool is_word = operand->kind == WORD && steps_truth(operand->text, &is_true);
    *truth = is_word ? (is_true ? "1" : "0") : operand->text;
    return is_word || operand->kind == CONDITION;
}

/* What C computes of an operand that is not needed: it may fail. */
/* NOLINTNEXTLINE(misc-no-recursion): as truth_of() */
static const char *computed(struct translation *to, const struct operand *operand)
{
    if (operand->kind == CHOICE)
        return keep(to, alloc_format("(%s ? (void)%s : (void)%s)", operand->text,
                                     computed(to, operand->chosen), computed(to, operand->other)));
    return operand->kind == WORD ? "0" : operand->text;
}

/* Of operands of other kinds than two numbers, as order_values() in base/expression_steps.c. */
static const struct operand *compare(struct translation *to, enum operation operation,
                                     const struct operand *left, const struct operand *right)
{
    const char *sign = operations[operation].between;
    const char *left_truth;
    const char *right_truth;
    if (left->kind == WORD && right->kind == WORD)
        return operand_new(to, CONDITION,
                           alloc_format("(%d%s0)", strcmp(left->text, right->text), sign));
    if (operation >= DO_LESS)
        return failure(to);
    if (is_condition(left, &left_truth) && is_condition(right, &right_truth))
        return operand_new(to, CONDITION, alloc_format("(%s%s%s)", left_truth, sign, right_truth));
    return operand_new(to, CONDITION,
                       alloc_format("((void)%s, (void)%s, %d)", computed(to, left),
                                    computed(to, right), operation == DO_DIFFERENT));
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the parser of expressions allows */

/* The result of an operation, or of a function for DO_CALL. `right` is NULL if it has one operand. */
static const struct operand *apply(struct translation *to, enum operation operation,
                                   const struct notation *notation, const struct operand *left,
                                   const struct operand *right)
{
    bool compares = operation >= DO_EQUAL && operation <= DO_GREATER_EQUAL;
    if (left->kind == CHOICE)
        return choose(to, left->text, apply(to, operation, notation, left->chosen, right),
                      apply(to, operation, notation, left->other, right));
    if (right != NULL && right->kind == CHOICE)
        return choose(to, right->text, apply(to, operation, notation, left, right->chosen),
                      apply(to, operation, notation, left, right->other));
    if (left->kind == NUMBER && (right == NULL || right->kind == NUMBER))
        return operand_new(to, compares ? CONDITION : NUMBER,
                           alloc_format("%s%s%s%s%s", notation->before, left->text,
                                        right != NULL ? notation->between : "",
                                        right != NULL ? right->text : "", notation->behind));
    return compares ? compare(to, operation, left, right) : failure(to);
}

/* An operand that must be a condition, in C. */
static const char *truth_of(struct translation *to, const struct operand *operand)
{
    const char *truth;
    if (operand->kind == CHOICE)
        return keep(to, alloc_format("(%s ? %s : %s)", operand->text, truth_of(to, operand->chosen),
                                     truth_of(to, operand->other)));
    return is_condition(operand, &truth) ? truth : failure(to)->text;
}

/* `left or right`, where `left` is `condition and value`: only a false one takes `right`. */
static const struct operand *choose_or(struct translation *to, const struct operand *left,
                                       const struct operand *right)
{
    const char *truth;
    if (left->kind == CHOICE)
        return choose(to, left->text, choose_or(to, left->chosen, right),
                      choose_or(to, left->other, right));
    return is_condition(left, &truth) ? choose(to, truth, constant(to, true), right) : left;
}

static void push_call(struct translation *to, const struct step *step)
{
    static const struct notation itself = {"", "", ""};
    const struct operand *const *arguments = &to->stack[to->depth - step->count];
    const struct operand *result = arguments[0];
    const struct notation *notation = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, step->as.function->name) == 0)
            notation = &functions[i].notation;
    assert(notation != NULL); /* every function of base/expression_steps.c is here */
    if (step->count == 1)     /* min(x) is x, which must be a number */
        result =
            apply(to, DO_CALL, notation->between[0] == '\0' ? notation : &itself, result, NULL);
    for (size_t i = 1; i < step->count; i++)
        result = apply(to, DO_CALL, notation, result, arguments[i]);
    to->depth -= step->count;
    push(to, result);
}

static void translate(struct translation *to, size_t from, size_t end);

/* The result of the steps from `from` up to before `end`. */
static const struct operand *translated(struct translation *to, size_t from, size_t end)
{
    translate(to, from, end);
    return pop(to);
}

/* Puts what a step that may jump computes from the topmost operand and from the steps that it may leave
 * out. Returns the first step behind these. */
static size_t translate_branch(struct translation *to, size_t at)
{
    const struct step *step = &to->expression->steps->items[at];
    size_t end = step->index;
    const struct operand *left = pop(to);
    if (step->operation == DO_CHOSEN) {
        push(to, choose_or(to, left, translated(to, at + 1, end)));
        return end;
    }
    const char *condition = truth_of(to, left);
    if (step->operation == DO_AND) {
        push(to, choose(to, condition, translated(to, at + 1, end), constant(to, false)));
    } else if (step->operation == DO_OR) {
        push(to, choose(to, condition, constant(to, true), translated(to, at + 1, end)));
    } else {
        const struct operand *chosen = translated(to, at + 1, end - 1);
        size_t other = end; /* behind the jump over it */
        end = to->expression->steps->items[end - 1].index;
        push(to, choose(to, condition, chosen, translated(to, other, end)));
    }
    return end;
}

/* Puts what the steps up to before `end` compute. */
static void translate(struct translation *to, size_t from, size_t end)
{
    while (from < end) {
        const struct step *step = &to->expression->steps->items[from];
        if (step->source == FROM_NAME)
            push(to, name_operand(to, &to->expression->names[step->index]));
        else if (step->source == FROM_CONSTANT)
            push(to, value_operand(to, &step->as.constant));
        if (step->operation <= DO_GREATER_EQUAL) {
            const struct operand *right = pop(to);
            push(to, apply(to, step->operation, &operations[step->operation], pop(to), right));
        } else if (step->operation == DO_NEGATE) {
            push(to, apply(to, DO_NEGATE, &operations[DO_NEGATE], pop(to), NULL));
        } else if (step->operation == DO_NOT) {
            push(to, operand_new(to, CONDITION, alloc_format("(!%s)", truth_of(to, pop(to)))));
        } else if (step->operation == DO_CONDITION) {
            push(to, operand_new(to, CONDITION, alloc_string(truth_of(to, pop(to)))));
        } else if (step->operation == DO_CALL) {
            push_call(to, step);
        } else if (step->operation != DO_LOAD) {
            from = translate_branch(to, from);
            continue;
        }
        from++;
    }
}
/* NOLINTEND(misc-no-recursion) */

/* Translates an expression of the cover, whose C may set "failed". */
static const struct operand *translate_expression(struct translation *to,
                                                  const struct cover_expression *expression)
{
    to->expression = expression;
    return translated(to, 0, expression->steps->count);
}

static void release(struct translation *to)
{
    for (size_t i = 0; i < to->kept_count; i++)
        free(to->kept[i]);
    free(to->kept);
}

/* A condition of the cover in C, which may set "failed"; a new string. */
static char *condition_text(const struct cover *cover, const struct cover_expression *condition,
                            const struct cover_configuration *configuration)
{
    struct translation to = translation_of(cover, configuration);
    char *text = alloc_string(truth_of(&to, translate_expression(&to, condition)));
    release(&to);
    return text;
}

/* An operand that must be a number, in C. */
/* NOLINTNEXTLINE(misc-no-recursion): as truth_of() */
static const char *number_of(struct translation *to, const struct operand *operand)
{
    if (operand->kind == CHOICE)
        return keep(to,
                    alloc_format("(%s ? %s : %s)", operand->text, number_of(to, operand->chosen),
                                 number_of(to, operand->other)));
    return operand->kind == NUMBER ? operand->text : failure(to)->text;
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
        fprintf(stream, "    allowed[%zu] = %d;\n", i, !cover->configurations[i].incomplete);
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

/* What estimates a configuration's time. */
static void put_estimate(FILE *stream, const struct cover *cover, size_t configuration)
{
    struct translation to = translation_of(cover, &cover->configurations[configuration]);
    fputs("    {\n        failed = 0;\n", stream);
    for (size_t i = 0; i < cover->figure_count; i++) {
        const struct operand *figure = translate_expression(&to, &cover->figures[i]);
        to.figures[i] = figure;
        if (figure->kind == WORD || figure->kind == CHOICE) {
            fprintf(stream, "        (void)(%s);\n", computed(&to, figure));
            continue;
        }
        fprintf(stream, "        %s figure_%zu = %s;\n        (void)figure_%zu;\n",
                figure->kind == NUMBER ? "double" : "int", i + 1, figure->text, i + 1);
        to.figures[i] = operand_new(&to, (int)figure->kind, alloc_format("figure_%zu", i + 1));
    }
    const struct operand *estimate = translate_expression(&to, &cover->estimate);
    fprintf(stream,
            "        estimates[%zu] = %s;\n"
            "        estimates[%zu] = failed ? 0 : estimates[%zu];\n    }\n",
            configuration, number_of(&to, estimate), configuration, configuration);
    release(&to);
}

static void put_estimates(FILE *stream, const struct cover *cover)
{
    fprintf(stream, "    double estimates[%zu];\n", cover->public.count);
    for (size_t i = 0; i < cover->figure_count; i++)
        put_comment(stream, cover->figures[i].text);
    if (cover->estimate.text != NULL)
        put_comment(stream, cover->estimate.text);
    for (size_t i = 0; i < cover->public.count; i++)
        if (cover->estimate.text != NULL)
            put_estimate(stream, cover, i);
        else
            fprintf(stream, "    estimates[%zu] = 1;\n", i);
}

static void put_table(FILE *stream, const char *name, const double *numbers, size_t rows,
                      size_t columns)
{
    fprintf(stream, "    static const double %s[%zu][%zu] = {\n", name, rows, columns);
    for (size_t i = 0; i < rows * columns; i++)
        fprintf(stream, "%s%.17g%s", i % columns > 0 ? ", " : "        {", numbers[i],
                (i + 1) % columns > 0 ? "" : "},\n");
    fputs("    };\n", stream);
}

/* The measured sizes, and the search for the least expected time. */
static void put_choice(FILE *stream, const struct cover *cover)
{
    const size_t ranges = cover->public.range_count;
    const size_t sizes = cover->public.size_count;
    const size_t configurations = cover->public.count;
    fputs("    /* s(x) of each measured size */\n", stream);
    put_table(stream, "known", cover->scales, ranges, sizes);
    fputs("    /* each configuration's times there, relative to the fastest */\n", stream);
    put_table(stream, "ratios", cover->ratios, configurations, sizes);
    fprintf(stream,
            "    double scales[%zu];\n    double distances[%zu];\n"
            "    double least = HUGE_VAL;\n    int chosen = 0;\n",
            ranges, sizes);
    for (size_t i = 0; i < ranges; i++)
        fprintf(stream, "    scales[%zu] = autotune_scale(problem_%s);\n", i,
                cover->ranges[i].name);
    fprintf(stream,
            "    for (int i = 0; i < %zu; i++) {\n        distances[i] = 0;\n"
            "        for (int j = 0; j < %zu; j++)\n"
            "            distances[i] += fabs(known[j][i] - scales[j]);\n    }\n"
            "    for (int i = 0; i < %zu; i++) {\n"
            "        double expected = autotune_mean(ratios[i], distances, %zu);\n"
            "        expected *= estimates[i];\n"
            "        if (!(expected > 0 && expected < least) || !allowed[i])\n"
            "            continue;\n"
            "        least = expected;\n        chosen = i + 1;\n    }\n"
            "    return chosen;\n",
            sizes, ranges, configurations, sizes);
}

static void put_function(FILE *stream, const char *name, const struct tuned_entry *entry)
{
    const struct cover *cover = entry->cover;
    fprintf(stream, "static inline int %s(", name);
    for (size_t i = 0; i < cover->public.range_count; i++)
        fprintf(stream, "double problem_%s, ", cover->ranges[i].name);
    fputs("double sm_count)\n{\n    int failed = 0;\n    (void)failed;\n", stream);
    fprintf(stream, "    if (!(sm_count > 0))\n        sm_count = %d;\n", entry->sm_count);
    put_range(stream, cover);
    put_allowed(stream, cover);
    put_estimates(stream, cover);
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
