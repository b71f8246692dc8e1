#include "command/export.h"

#include "base/alloc.h"
#include "base/cover.h"
#include "base/expression_steps.h"
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
    fputs("\n#include <float.h>\n#include <math.h>\n#include <string.h>\n"
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
 * Expressions as base/expression_steps.c computes them, but with real numbers alone, and with all alternatives computed:
 * what fails is a value, too. Through `volatile`, a product is rounded before it is added to something: clang's code
 * generator may use an FMA instruction otherwise, and no pragma forbids it.
 */
static const char helpers[] =
    "\n#ifndef AUTOTUNE_COVER_HELPERS\n#define AUTOTUNE_COVER_HELPERS\n"
    "enum { AUTOTUNE_NUMBER, AUTOTUNE_CONDITION, AUTOTUNE_WORD, AUTOTUNE_FAILED };\n"
    "struct autotune_value {\n    int kind;\n    double number;\n    const char *word;\n};\n"
    "static inline struct autotune_value autotune_make(int kind, double number, const char *word)\n"
    "{\n    struct autotune_value value;\n    value.kind = kind;\n    value.number = number;\n"
    "    value.word = word;\n    return value;\n}\n"
    "#define autotune_number(number) autotune_make(AUTOTUNE_NUMBER, number, \"\")\n"
    "#define autotune_truth(truth) autotune_make(AUTOTUNE_CONDITION, truth, \"\")\n"
    "#define autotune_word(word) autotune_make(AUTOTUNE_WORD, 0, word)\n"
    "#define autotune_failed() autotune_make(AUTOTUNE_FAILED, 0, \"\")\n"
    "/* -1: it is not a condition */\nstatic inline int autotune_holds(struct autotune_value "
    "a)\n{\n"
    "    if (a.kind == AUTOTUNE_CONDITION)\n        return a.number > 0;\n"
    "    if (!strcmp(a.word, \"true\") || !strcmp(a.word, \"yes\"))\n        return 1;\n"
    "    return !strcmp(a.word, \"false\") || !strcmp(a.word, \"no\") ? 0 : -1;\n}\n"
    "static inline double autotune_scale(double a)\n{\n"
    "    double scale = log2(1 + fabs(a));\n"
    "    return copysign(scale > DBL_MAX_EXP ? DBL_MAX_EXP : scale, a);\n}\n"
    "static inline double autotune_product(double a, double b)\n{\n"
    "    volatile double product = a * b;\n    return product;\n}\n"
    "static inline double autotune_rest(double a, double b)\n{\n    double rest = fmod(a, b);\n"
    "    return (rest > 0 && b < 0) || (rest < 0 && b > 0) ? rest + b : rest;\n}\n"
    "static inline int autotune_whole(double a, double least)\n{\n"
    "    return a >= least && a <= floor(a) && a < 9223372036854775808.0;\n}\n"
    "static inline double autotune_log2(double a, int up)\n{\n"
    "    int exponent;\n    double half = frexp(a, &exponent);\n"
    "    return exponent - 1 + (up && half > 0.5);\n}\n"
    "static inline struct autotune_value autotune_compare(struct autotune_value a, "
    "struct autotune_value b, int less,\n        int equal, int greater)\n{\n"
    "    int words = a.kind == AUTOTUNE_WORD && b.kind == AUTOTUNE_WORD;\n"
    "    double left = words ? strcmp(a.word, b.word) : a.number, right = words ? 0 : b.number;\n"
    "    int unlike = !words && (a.kind != AUTOTUNE_NUMBER || b.kind != AUTOTUNE_NUMBER);\n"
    "    if (a.kind == AUTOTUNE_FAILED || b.kind == AUTOTUNE_FAILED || (unlike && less != "
    "greater))\n"
    "        return autotune_failed();\n"
    "    if (unlike)\n        return autotune_truth(autotune_holds(a) >= 0 && "
    "autotune_holds(a) == autotune_holds(b) ? equal : less);\n"
    "    return autotune_truth(left < right ? less : left > right ? greater : left >= right ? "
    "equal "
    ": less && greater);\n}\n";
static const char operations[] =
    "#define AUTOTUNE_UNARY(name, result) \\\n"
    "    static inline struct autotune_value autotune_##name(struct autotune_value left) \\\n"
    "    { int holds = autotune_holds(left); double a = left.number; (void)holds, (void)a; return "
    "result; }\n"
    "#define AUTOTUNE_BINARY(name, result) \\\n"
    "    static inline struct autotune_value autotune_##name(struct autotune_value left, "
    "struct autotune_value right) \\\n"
    "    { int holds = autotune_holds(left); double a = left.number, b = right.number; \\\n"
    "      (void)holds, (void)a, (void)b; return result; }\n"
    "#define AUTOTUNE_IF(valid, result) ((valid) ? (result) : autotune_failed())\n"
    "#define AUTOTUNE_1(valid, result) AUTOTUNE_IF(!left.kind && (valid), "
    "autotune_number(result))\n"
    "#define AUTOTUNE_2(valid, result) AUTOTUNE_IF(!left.kind && !right.kind && (valid), "
    "autotune_number(result))\n"
    "AUTOTUNE_UNARY(negate, AUTOTUNE_1(1, -a))\n"
    "AUTOTUNE_UNARY(abs, AUTOTUNE_1(1, fabs(a)))\n"
    "AUTOTUNE_UNARY(floor, AUTOTUNE_1(1, floor(a)))\n"
    "AUTOTUNE_UNARY(ceil, AUTOTUNE_1(1, ceil(a)))\n"
    "AUTOTUNE_UNARY(log2_floor, AUTOTUNE_1(autotune_whole(a, 1), autotune_log2(a, 0)))\n"
    "AUTOTUNE_UNARY(log2_ceil, AUTOTUNE_1(autotune_whole(a, 1), autotune_log2(a, 1)))\n"
    "AUTOTUNE_UNARY(condition, AUTOTUNE_IF(holds >= 0, autotune_truth(holds)))\n"
    "AUTOTUNE_UNARY(not, AUTOTUNE_IF(holds >= 0, autotune_truth(!holds)))\n"
    "AUTOTUNE_BINARY(add, AUTOTUNE_2(1, a + b))\n"
    "AUTOTUNE_BINARY(subtract, AUTOTUNE_2(1, a - b))\n"
    "AUTOTUNE_BINARY(multiply, AUTOTUNE_2(1, autotune_product(a, b)))\n"
    "AUTOTUNE_BINARY(divide, AUTOTUNE_2(b > 0 || b < 0, a / b))\n"
    "AUTOTUNE_BINARY(floor_divide, AUTOTUNE_2(b > 0 || b < 0, floor(a / b)))\n"
    "AUTOTUNE_BINARY(modulo, AUTOTUNE_2(b > 0 || b < 0, autotune_rest(a, b)))\n"
    "AUTOTUNE_BINARY(power, AUTOTUNE_2(1, pow(a, b)))\n"
    "AUTOTUNE_BINARY(min, AUTOTUNE_2(1, b < a ? b : a))\n"
    "AUTOTUNE_BINARY(max, AUTOTUNE_2(1, b > a ? b : a))\n"
    "AUTOTUNE_BINARY(ceil_div, AUTOTUNE_2(autotune_whole(a, 0) && autotune_whole(b, 1),\n"
    "        (a - fmod(a, b)) / b + (fmod(a, b) > 0)))\n"
    "AUTOTUNE_BINARY(round_up, AUTOTUNE_2(autotune_whole(a, 0) && autotune_whole(b, 1),\n"
    "        ((a - fmod(a, b)) / b + (fmod(a, b) > 0)) * b))\n"
    "AUTOTUNE_BINARY(equal, autotune_compare(left, right, 0, 1, 0))\n"
    "AUTOTUNE_BINARY(different, autotune_compare(left, right, 1, 0, 1))\n"
    "AUTOTUNE_BINARY(less, autotune_compare(left, right, 1, 0, 0))\n"
    "AUTOTUNE_BINARY(less_equal, autotune_compare(left, right, 1, 1, 0))\n"
    "AUTOTUNE_BINARY(greater, autotune_compare(left, right, 0, 0, 1))\n"
    "AUTOTUNE_BINARY(greater_equal, autotune_compare(left, right, 0, 1, 1))\n"
    "AUTOTUNE_BINARY(and, holds > 0 ? right : autotune_condition(left))\n"
    "AUTOTUNE_BINARY(or, holds == 0 ? right : autotune_condition(left))\n"
    "AUTOTUNE_BINARY(chosen, holds == 0 ? right : holds > 0 ? autotune_truth(1) : left)\n"
    "static inline struct autotune_value autotune_choose(struct autotune_value condition,\n"
    "        struct autotune_value chosen, struct autotune_value other)\n{\n"
    "    int holds = autotune_holds(condition);\n"
    "    return holds > 0 ? chosen : AUTOTUNE_IF(holds == 0, other);\n}\n"
    "/* The last value, if none failed. */\nstatic inline double autotune_estimate(const struct "
    "autotune_value *figures, int count)\n{\n"
    "    for (int i = 0; i < count; i++)\n        if (figures[i].kind == AUTOTUNE_FAILED)\n"
    "            return 0;\n"
    "    return figures[count - 1].kind == AUTOTUNE_NUMBER ? figures[count - 1].number : 0;\n}\n"
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

/* An expression and its steps, of which the first have become C. */
struct translation {
    const struct cover *cover;
    const struct cover_expression *expression;
    struct cover_values values;
    char *stack[STEPS_STACK_LIMIT + 1];
    size_t depth;
};

/* The functions of `helpers` for operations; calls have those of their own name. */
static const char *const functions[] = {[DO_ADD] = "add",
                                        [DO_SUBTRACT] = "subtract",
                                        [DO_MULTIPLY] = "multiply",
                                        [DO_DIVIDE] = "divide",
                                        [DO_FLOOR_DIVIDE] = "floor_divide",
                                        [DO_MODULO] = "modulo",
                                        [DO_POWER] = "power",
                                        [DO_EQUAL] = "equal",
                                        [DO_DIFFERENT] = "different",
                                        [DO_LESS] = "less",
                                        [DO_LESS_EQUAL] = "less_equal",
                                        [DO_GREATER] = "greater",
                                        [DO_GREATER_EQUAL] = "greater_equal",
                                        [DO_NEGATE] = "negate",
                                        [DO_NOT] = "not",
                                        [DO_CONDITION] = "condition",
                                        [DO_AND] = "and",
                                        [DO_OR] = "or",
                                        [DO_CHOSEN] = "chosen",
                                        [DO_BRANCH] = "choose"};

/* Takes over `text`. */
static void push(struct translation *to, char *text)
{
    to->stack[to->depth++] = text;
}

/* Puts a call of a function in the place of its arguments, which are the topmost `count` texts. */
static void call(struct translation *to, const char *function, size_t count)
{
    char **arguments = &to->stack[to->depth -= count];
    char *text = alloc_format("autotune_%s(", function);
    for (size_t i = 0; i < count; i++) {
        alloc_append(&text, "%s%s", i > 0 ? ", " : "", arguments[i]);
        free(arguments[i]);
    }
    alloc_append(&text, ")");
    push(to, text);
}

static char *number_text(double number)
{
    char buffer[VALUE_TEXT_BYTES];
    return alloc_string(isnan(number)   ? "(HUGE_VAL - HUGE_VAL)"
                        : isinf(number) ? (number > 0 ? "HUGE_VAL" : "(-HUGE_VAL)")
                                        : value_exact_text(value_real(number), buffer));
}

static void push_value(struct translation *to, const struct value *value)
{
    if (value->kind == VALUE_WORD)
        push(to, export_string(value->as.word));
    else if (value->kind == VALUE_BOOLEAN)
        push(to, alloc_string(value->as.boolean ? "1" : "0"));
    else
        push(to, number_text(number_real(value)));
    call(to,
         value->kind == VALUE_WORD      ? "word"
         : value->kind == VALUE_BOOLEAN ? "truth"
                                        : "number",
         1);
}

static void push_name(struct translation *to, const struct cover_name *name)
{
    if (name->kind == COVER_FIGURE)
        push(to, alloc_format("figures[%zu]", name->index));
    else if (name->kind != COVER_PROBLEM)
        push_value(to, &to->values.of[name->kind][name->index]);
    else if (name->index < to->cover->public.range_count)
        push(to, alloc_format("autotune_number(problem_%s)", to->cover->ranges[name->index].name));
    else
        push(to, alloc_string("autotune_number(sm_count)"));
}

static void push_call(struct translation *to, const struct step *step)
{
    const struct expression_function *function = step->as.function;
    char **arguments = &to->stack[to->depth - step->count];
    if (function->most <= 2) {
        call(to, function->name, step->count);
    } else if (step->count == 1) { /* min(x) is x, which must be a number */
        push_value(to, &(struct value){.kind = VALUE_INTEGER});
        call(to, "add", 2);
    } else { /* min(min(x, y), z) */
        for (size_t i = 1; i < step->count; i++) {
            char *text =
                alloc_format("autotune_%s(%s, %s)", function->name, arguments[0], arguments[i]);
            free(arguments[0]);
            free(arguments[i]);
            arguments[0] = text;
        }
        to->depth -= step->count - 1;
    }
}

/* Puts what the steps up to before `end` compute. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the parser of expressions allows */
static void translate(struct translation *to, size_t from, size_t end)
{
    while (from < end) {
        const struct step *steps = to->expression->steps->items;
        const struct step *step = &steps[from++];
        if (step->source == FROM_NAME)
            push_name(to, &to->expression->names[step->index]);
        else if (step->source == FROM_CONSTANT)
            push_value(to, &step->as.constant);
        if (step->operation == DO_CALL) {
            push_call(to, step);
        } else if (step->operation == DO_BRANCH) { /* over the jump behind the first alternative */
            size_t other = step->index;
            translate(to, from, other - 1);
            from = steps[other - 1].index;
            translate(to, other, from);
            call(to, functions[DO_BRANCH], 3);
        } else if (step->operation != DO_LOAD) {
            bool jumps = step->operation >= DO_AND && step->operation <= DO_CHOSEN;
            bool is_unary = step->operation >= DO_NEGATE && step->operation <= DO_CONDITION;
            if (jumps)
                translate(to, from, step->index);
            from = jumps ? step->index : from;
            call(to, functions[step->operation], is_unary ? 1 : 2);
        }
    }
}

/* An expression of the cover in C, which has what `configuration` has, unless it is NULL; a new string. */
static char *expression_c(const struct cover *cover, const struct cover_expression *expression,
                          const struct cover_configuration *configuration)
{
    struct translation to = {.cover = cover,
                             .expression = expression,
                             .values = cover_values(cover, configuration, NULL)};
    translate(&to, 0, expression->steps->count);
    return to.stack[0];
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
    char *text = expression_c(cover, &cover->constraint, NULL);
    put_comment(stream, cover->constraint.text);
    fprintf(stream, "    if (autotune_holds(%s) <= 0)\n        return 0;\n", text);
    free(text);
}

/* Which configurations the constraints allow, and what estimates their times. */
static void put_configuration(FILE *stream, const struct cover *cover, size_t index)
{
    const struct cover_configuration *configuration = &cover->configurations[index];
    fprintf(stream, "    allowed[%zu] = %d", index, !configuration->incomplete);
    for (size_t i = 0; i < cover->allowed_count; i++) {
        char *text = expression_c(cover, &cover->allowed[i], configuration);
        fprintf(stream, " &&\n        autotune_holds(%s) > 0", text);
        free(text);
    }
    fputs(";\n", stream);
    for (size_t i = 0; i <= cover->figure_count && cover->estimate.text != NULL; i++) {
        char *text = expression_c(
            cover, i < cover->figure_count ? &cover->figures[i] : &cover->estimate, configuration);
        fprintf(stream, "    figures[%zu] = %s;\n", i, text);
        free(text);
    }
    if (cover->estimate.text != NULL)
        fprintf(stream, "    estimates[%zu] = autotune_estimate(figures, %zu);\n", index,
                cover->figure_count + 1);
    else
        fprintf(stream, "    estimates[%zu] = 1;\n", index);
}

static void put_configurations(FILE *stream, const struct cover *cover)
{
    fprintf(stream, "    int allowed[%zu];\n    double estimates[%zu];\n", cover->public.count,
            cover->public.count);
    for (size_t i = 0; i < cover->allowed_count; i++)
        put_comment(stream, cover->allowed[i].text);
    for (size_t i = 0; i < cover->figure_count; i++)
        put_comment(stream, cover->figures[i].text);
    if (cover->estimate.text != NULL) {
        put_comment(stream, cover->estimate.text);
        fprintf(stream, "    struct autotune_value figures[%zu];\n", cover->figure_count + 1);
    }
    for (size_t i = 0; i < cover->public.count; i++)
        put_configuration(stream, cover, i);
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
    fputs("double sm_count)\n{\n", stream);
    fprintf(stream, "    if (!(sm_count > 0))\n        sm_count = %d;\n", entry->sm_count);
    put_range(stream, cover);
    put_configurations(stream, cover);
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
    char *gpu = export_string(first->gpu->name);
    bool warm = first->cache != NULL && strcmp(first->cache, "warm") == 0;
    fprintf(stream, "\n/* The cover for %s%s", gpu, warm ? ", warm L2 cache" : "");
    free(gpu);
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
    size_t end = index;
    while ((next = tuned_at(table, end)) != NULL && strcmp(next->kernel, kernel) == 0)
        end++;
    for (size_t i = 0; i < 2 * (end - index);
         i++) { /* those that look-ups prefer have the lower numbers */
        const bool preferred = i < end - index;
        next = tuned_at(table, index + i % (end - index));
        if (next->number != 1 || export_prefers(query, next) != preferred ||
            !export_takes(query, next))
            continue;
        const struct tuned_entry *entry = entry_of(tuned, next, error);
        if (entry == NULL)
            return ERROR_CONFIG;
        if (number++ == 0) {
            begin_exact(stream);
            fputs(helpers, stream);
            fputs(operations, stream);
        }
        write_cover(stream, next, entry, number);
    }
    if (number > 0)
        end_exact(stream);
    return 0;
}
