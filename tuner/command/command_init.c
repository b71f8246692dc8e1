#include "command/command.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/write_file.h"
#include "template/element.h"
#include "template/source.h"
#include "template/source_lexer.h"
#include "template/source_signature.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what the source has --- */

/* A number that the template gives the kernel: of a macro, or of a template's parameter. */
struct number {
    char *macro; /* as the source, or the entry, spells it */
    char *name;  /* as the template spells it */
    char *text;  /* what it stands for, if that is not a number; it is not used then */
    long value;
    bool guarded; /* the compiler can be given another value */
    bool used;
    bool flag; /* false or true */
    int line;  /* 0: it is a template's parameter */
};

/* A parameter of a kernel, or a variable in constant memory. */
struct item {
    char *name;   /* as the template spells it */
    char *spelt;  /* as the source does */
    char *type;   /* "float", "int32"; NULL: it is not known */
    char *length; /* of a variable, or of what atomics change; otherwise NULL */
    bool buffer, symbol, reads, writes, sums;
    bool floating, truth;
};

struct init {
    const char *path; /* the source's */
    char *name;       /* the template's */
    char *folder;     /* to write to */
    struct source source;
    struct source_kernel *kernels, **chosen;
    size_t kernel_count, chosen_count;
    struct number *numbers;
    size_t number_count;
    struct item *items;
    size_t item_count;
    size_t gaps;
    FILE *out; /* the template's INI */
};

static bool is_taken(const struct init *init, const char *name)
{
    bool taken = template_name_is_reserved(name) || !literal_is_name(name, LITERAL_NAME_LETTERS);
    for (size_t i = 0; i < init->number_count && !taken; i++)
        taken = strcmp(init->numbers[i].name, name) == 0;
    for (size_t i = 0; i < init->item_count && !taken; i++)
        taken = strcmp(init->items[i].name, name) == 0;
    return taken;
}

/* "num_rows" of "numRows", with a number if that is no new name; a new string. */
static char *lower(const struct init *init, const char *text)
{
    char *name = alloc_string(isalpha((unsigned char)text[0]) ? "" : "k_");
    for (const char *at = text; *at != '\0' && strlen(name) < LITERAL_NAME_LETTERS - 4; at++) {
        bool word = at > text && isupper((unsigned char)*at) && islower((unsigned char)at[-1]);
        alloc_append(&name, "%s%c", word ? "_" : "",
                     isalnum((unsigned char)*at) ? tolower((unsigned char)*at) : '_');
    }
    size_t length = strlen(name);
    for (int number = 2; is_taken(init, name) && number < 100; number++) {
        name[length] = '\0';
        alloc_append(&name, "_%d", number);
    }
    return name;
}

static bool has_word(const char *text, const char *const *words)
{
    while (*words != NULL && strstr(text, *words) == NULL)
        words++;
    return *words != NULL;
}

static struct number *find_number(const struct init *init, const char *macro)
{
    for (size_t i = 0; i < init->number_count; i++)
        if (strcmp(init->numbers[i].macro, macro) == 0)
            return &init->numbers[i];
    return NULL;
}

/* The macro behind "#define". */
static void read_define(struct init *init, struct source_lexer *lexer, const char *guard, int line)
{
    char *end = NULL;
    char *macro = source_lexer_next(lexer) == TOKEN_NAME ? alloc_string(lexer->token) : NULL;
    char *text = alloc_string("");
    while (macro != NULL && source_lexer_next(lexer) != TOKEN_DIRECTIVE_END)
        alloc_append(&text, "%s%s", lexer->spaced && text[0] != '\0' ? " " : "", lexer->token);
    long value = strtol(text, &end, 0);
    bool number = text[0] != '\0' && *end == '\0';
    if (macro != NULL && text[0] != '\0' && find_number(init, macro) == NULL &&
        (!number || strlen(macro) > 1)) {
        char *name = lower(init, macro);
        *ARRAY_APPEND(init->numbers, init->number_count) =
            (struct number){.macro = macro,
                            .name = name,
                            .text = number ? NULL : text,
                            .value = value,
                            .guarded = guard != NULL && strcmp(guard, macro) == 0,
                            .line = line};
        macro = NULL;
        text = number ? text : NULL;
    }
    free(macro);
    free(text);
}

/* The macros that are numbers and, the second time, which of them are used. */
static void read_numbers(struct init *init, const struct source_file *file, bool uses)
{
    struct source_lexer lexer;
    enum token_kind kind, last = TOKEN_END;
    char *directive = alloc_string("");
    char *guard = NULL;
    const char *own = strstr(file->text, "#line 1\n"); /* in front is not the user's */
    int hidden = own != NULL;
    for (const char *at = file->text; own != NULL && at < own; at++)
        hidden += *at == '\n';
    source_lexer_init(&lexer, file->text);
    while ((kind = source_lexer_next(&lexer)) != TOKEN_END) {
        bool names = strcmp(directive, "define") == 0 || strstr(directive, "def") != NULL;
        if (last == TOKEN_DIRECTIVE && kind == TOKEN_NAME) {
            free(directive);
            directive = alloc_string(lexer.token);
            if (!uses && strcmp(directive, "define") == 0)
                read_define(init, &lexer, guard, lexer.line - hidden);
        } else if (kind == TOKEN_NAME && names) { /* it is defined or asked for */
            if (strcmp(directive, "ifndef") == 0) {
                free(guard);
                guard = alloc_string(lexer.token);
            }
            directive[0] = '\0';
        } else if (kind == TOKEN_NAME && uses) {
            struct number *number = find_number(init, lexer.token);
            if (number != NULL && number->text == NULL)
                number->used = true;
        }
        if (kind == TOKEN_DIRECTIVE_END)
            directive[0] = '\0';
        last = kind;
    }
    source_lexer_release(&lexer);
    free(directive);
    free(guard);
}

/* A size in the template's words: numbers as parameters, or as their values if they are none; NULL if there is
 * another name. A new string. */
/* NOLINTNEXTLINE(misc-no-recursion): to a limited depth */
static char *translate_to(const struct init *init, const char *text, int depth)
{
    struct source_lexer lexer;
    enum token_kind kind;
    char *expression = alloc_string("");
    bool known = depth > 0;
    source_lexer_init(&lexer, text);
    while (known && (kind = source_lexer_next(&lexer)) != TOKEN_END) {
        const struct number *number = find_number(init, lexer.token);
        char *inner = NULL;
        if (number != NULL && number->text != NULL)
            inner = translate_to(init, number->text, depth - 1);
        else if (number != NULL && number->text == NULL)
            inner =
                number->guarded ? alloc_string(number->name) : alloc_format("%ld", number->value);
        else if (kind != TOKEN_NAME)
            inner = alloc_string(strcmp(lexer.token, "/") == 0 ? "//" : lexer.token);
        known = inner != NULL;
        alloc_append(&expression, "%s%s", lexer.spaced && expression[0] != '\0' ? " " : "",
                     known ? inner : "");
        free(inner);
    }
    source_lexer_release(&lexer);
    if (known)
        return expression;
    free(expression);
    return NULL;
}

static char *translate(const struct init *init, const char *text)
{
    enum { MACROS_DEEP = 8 };
    return translate_to(init, text, MACROS_DEEP);
}

/* --- parameters of kernels --- */

/* The last name of a declaration, in front of a default; a new string, "" if there is none. */
static char *declared_name(const char *text)
{
    struct source_lexer lexer;
    enum token_kind kind;
    char *name = alloc_string("");
    source_lexer_init(&lexer, text);
    while ((kind = source_lexer_next(&lexer)) != TOKEN_END && strcmp(lexer.token, "=") != 0 &&
           strcmp(lexer.token, "[") != 0)
        if (kind == TOKEN_NAME) {
            free(name);
            name = alloc_string(lexer.token);
        }
    source_lexer_release(&lexer);
    return name;
}

static struct item *find_item(const struct init *init, const char *spelt)
{
    for (size_t i = 0; i < init->item_count; i++)
        if (strcmp(init->items[i].spelt, spelt) == 0)
            return &init->items[i];
    return NULL;
}

/* How the kernel uses a pointer: each name is read unless it is assigned to. */
static void read_uses(struct item *item, const struct source_kernel *kernel)
{
    static const char *const both[] = {"+=", "-=", "*=", "/=", "|=", "&=", "^=", "++", "--", NULL};
    static const char *const members[] = {".", "->", NULL};
    struct source_lexer lexer;
    char *body = alloc_string_n(kernel->body, (size_t)(kernel->end - kernel->body));
    char *last = alloc_string(""); /* the token in front, and that in front of it */
    char *second = alloc_string("");
    bool address = false, atomic = false;
    int depth = -1; /* of brackets behind the name; -1: outside */
    source_lexer_init(&lexer, body);
    while (source_lexer_next(&lexer) != TOKEN_END) {
        const char *token = lexer.token;
        bool assigns = strcmp(token, "=") == 0 && !address;
        if (depth == 0 && strcmp(token, "[") != 0) {
            bool single = atomic && !address; /* atomicAdd(out, …) */
            item->writes = item->writes || assigns || names_have(both, token) ||
                           strcmp(last, "]") != 0 || address;
            item->reads = item->reads || !assigns;
            item->sums = item->sums || atomic;
            if (single && item->length == NULL)
                item->length = alloc_string("1");
            depth = -1;
        }
        if (depth < 0 && strcmp(token, item->spelt) == 0 && !names_have(members, last)) {
            depth = 0;
            address = strcmp(last, "&") == 0;
            atomic = strncmp(second, "atomic", 6) == 0 || (address && strcmp(second, "(") == 0);
        } else if (depth >= 0) {
            depth += strcmp(token, "[") == 0 ? 1 : strcmp(token, "]") == 0 ? -1 : 0;
        }
        free(second);
        second = last;
        last = alloc_string(token);
    }
    source_lexer_release(&lexer);
    free(second);
    free(last);
    free(body);
}

static void add_item(struct init *init, const struct source_parameter *parameter,
                     const struct source_kernel *kernel)
{
    char *spelt = declared_name(parameter->text);
    struct item *item = find_item(init, spelt);
    bool known = parameter->known || parameter->type_parameter >= 0;
    enum element_type type = parameter->known ? parameter->type : ELEMENT_FLOAT;
    if (item == NULL) {
        char *name = lower(init, spelt);
        item = ARRAY_APPEND(init->items, init->item_count);
        *item = (struct item){.name = name,
                              .spelt = spelt,
                              .type = known ? alloc_string(element_name(type)) : NULL,
                              .buffer = parameter->pointer,
                              .floating = known && element_is_floating(type),
                              .truth = strncmp(parameter->text, "bool ", 5) == 0};
    } else {
        free(spelt);
    }
    if (item->buffer && strncmp(parameter->text, "const ", 6) != 0)
        read_uses(item, kernel);
    else if (item->buffer)
        item->reads = true;
}

/* "__constant__ float filter[SIZE];" */
static void read_constants(struct init *init, const char *text)
{
    static const char mark[] = "__constant__";
    for (const char *at = text; (at = strstr(at, mark)) != NULL;) {
        at += strlen(mark);
        const char *bracket = strchr(at, '[');
        size_t length = strcspn(at, ";={(");
        if (at[length] != ';' || bracket == NULL || bracket > at + length)
            continue;
        char *declaration = alloc_string_n(at, (size_t)(bracket - at));
        char *function = alloc_format("__global__ void f(%s[]) {}", declaration);
        struct source_kernel *kernels;
        size_t count = source_kernels_read(function, &kernels);
        if (count == 1 && kernels[0].signature.count == 1) {
            struct source_parameter parameter = kernels[0].signature.parameters[0];
            char *size = alloc_string("");
            for (const char *next = bracket; next != NULL && next < at + length;) {
                size_t bytes = strcspn(next + 1, "]");
                alloc_append(&size, "%s(%.*s)", size[0] != '\0' ? " * " : "", (int)bytes, next + 1);
                next = strchr(next + 1, '[');
            }
            parameter.text = declaration;
            add_item(init, &parameter, &kernels[0]);
            struct item *item = &init->items[init->item_count - 1];
            item->symbol = item->reads = true;
            item->writes = false;
            item->length = translate(init, size);
            free(size);
        }
        source_kernels_free(kernels, count);
        free(function);
        free(declaration);
    }
}

/* "int BLOCK" of a template becomes a parameter whose macro the source does not have. */
static void add_template_number(struct init *init, const char *text)
{
    static const char *const not_numbers[] = {"typename", "class ", "...", "*", "(", NULL};
    char *spelt = declared_name(text);
    const char *equals = strchr(text, '=');
    struct number *number = find_number(init, spelt);
    if (has_word(text, not_numbers) || number != NULL) {
        free(spelt);
        return;
    }
    char *name = lower(init, spelt);
    char *upper = alloc_string(name);
    for (char *at = upper; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    if (source_find_name(&init->source, upper) != NULL) { /* a macro would change the source */
        char *longer = alloc_format("tuned_%.24s", name);
        free(name);
        name = longer;
    }
    static const char *const threads[] = {"block", "thread", NULL};
    bool flag = strncmp(text, "bool ", 5) == 0;
    long value = flag ? 0 : has_word(name, threads) ? 256 : 4;
    char *end = NULL;
    long given = equals != NULL ? strtol(equals + 1, &end, 0) : 0;
    *ARRAY_APPEND(init->numbers, init->number_count) =
        (struct number){.macro = spelt,
                        .name = name,
                        .value = given > 0 && *end == '\0' ? given : value,
                        .guarded = true,
                        .used = true,
                        .flag = flag};
    free(upper);
}

/* --- the launch --- */

static const char *const size_words[3][12] = {
    {"width", "cols", "columns", "num_cols", "nx", "w", "n", "size", "count", "length", "hidden",
     NULL},
    {"height", "rows", "num_rows", "ny", "h", "m", "batch", NULL},
    {"depth", "nz", "k", NULL}};

/* The integer that the grid's axis counts: the only one, or one with a usual name. */
static const struct item *find_size(const struct init *init, int axis)
{
    const struct item *found = NULL, *only = NULL;
    size_t count = 0;
    for (size_t i = 0; i < init->item_count; i++) {
        const struct item *item = &init->items[i];
        if (item->buffer || item->floating || item->truth || item->type == NULL)
            continue;
        only = item;
        count++;
        if (found == NULL && names_have(size_words[axis], item->name))
            found = item;
    }
    return count == 1 && axis == 0 ? only : found;
}

/* Elements of all sizes that are known, in the template's words or in C's; a new string. */
static char *length_text(const struct init *init, bool in_c)
{
    const struct item *x = find_size(init, 0);
    const struct item *y = find_size(init, 1);
    size_t sizes = 0;
    for (size_t i = 0; i < init->item_count; i++)
        sizes += !init->items[i].buffer && !init->items[i].floating && !init->items[i].truth;
    if (sizes == 1 && x != NULL)
        return alloc_string(in_c ? x->spelt : x->name);
    if (sizes == 2 && x != NULL && y != NULL && x != y)
        return in_c ? alloc_format("(long long)%s * %s", y->spelt, x->spelt)
                    : alloc_format("%s * %s", y->name, x->name);
    return NULL;
}

static bool has_parameter(const struct init *init, const char *name)
{
    for (size_t i = 0; i < init->number_count; i++)
        if (init->numbers[i].used && strcmp(init->numbers[i].name, name) == 0)
            return true;
    return false;
}

static const char *const indices[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

static bool uses(const struct source_kernel *kernel, const char *text)
{
    const char *found = strstr(kernel->body, text);
    return found != NULL && found < kernel->end;
}

static int count_axes(const struct source_kernel *kernel)
{
    return uses(kernel, "threadIdx.z") || uses(kernel, "blockDim.z")   ? 3
           : uses(kernel, "threadIdx.y") || uses(kernel, "blockDim.y") ? 2
                                                                       : 1;
}

static bool is_threads(const struct number *number)
{
    static const char *const words[] = {"block", "thread", "tpb", NULL};
    static const char *const others[] = {"per_thread", "blocks_per", "num_blocks", NULL};
    return has_word(number->name, words) && !has_word(number->name, others);
}

/* Threads along an axis: of the launch bounds, of a number with a usual name, or a launch parameter. */
static char *block_text(const struct init *init, const struct source_kernel *kernel, int axis,
                        int axes)
{
    static const char *const tiles[] = {"tile", "dim", NULL};
    const char letter = "xyz"[axis];
    static const char *const upright[] = {"rows", "height", NULL}; /* of the second axis */
    const struct number *found = NULL;
    char *bounds = kernel->bounds != NULL && axes == 1 ? translate(init, kernel->bounds) : NULL;
    if (bounds != NULL)
        return bounds;
    for (size_t i = 0; i < init->number_count && found == NULL; i++) {
        const struct number *number = &init->numbers[i];
        size_t length = strlen(number->name);
        bool suffix =
            length > 2 && number->name[length - 2] == '_' && number->name[length - 1] == letter;
        bool other = length > 2 && number->name[length - 2] == '_' &&
                     strchr("xyz", number->name[length - 1]) != NULL;
        if (number->used &&
            (is_threads(number) || (axes > 1 && has_word(number->name, tiles)) ||
             (axis == 1 && has_word(number->name, upright))) &&
            (suffix || (!other && (axes == 1 || has_word(number->name, upright) == (axis == 1)))))
            found = number;
    }
    bool square = axis == 1 && !uses(kernel, "blockDim.y");
    for (size_t i = 0; i < init->number_count && found == NULL && square; i++)
        if (init->numbers[i].used && has_word(init->numbers[i].name, tiles))
            found = &init->numbers[i];
    if (found != NULL)
        return found->guarded ? alloc_string(found->name) : alloc_format("%ld", found->value);
    return axes == 1 ? alloc_string("block_size") : alloc_format("block_%c", letter);
}

/* What a block covers along an axis: "blockIdx.x * TILE * 4"; NULL: one element. */
static char *covered_text(const struct init *init, const struct source_kernel *kernel, int axis,
                          const char *block)
{
    char *body = alloc_string_n(kernel->body, (size_t)(kernel->end - kernel->body));
    const char *mark = indices[axis];
    char *covered = NULL;
    for (const char *at = body; (at = strstr(at, mark)) != NULL && covered == NULL; at++) {
        const char *before = at;
        while (before > body && strchr(" *", before[-1]) != NULL)
            before--;
        const char *start = before;
        while (start > body &&
               (isalnum((unsigned char)start[-1]) || strchr("_.", start[-1]) != NULL))
            start--;
        const char *behind = at + strlen(mark) + strspn(at + strlen(mark), " )");
        size_t length = 0;
        if (*behind == '*') {
            start = behind + 1 + strspn(behind + 1, " (");
            while (start[strspn(start, "size_tlongint64uned ")] == ')') /* a cast */
                start += strcspn(start, ")") + 1 + strspn(start + strcspn(start, ")") + 1, " (");
            length =
                strspn(start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.* ");
            while (length > 0 && strchr("* ", start[length - 1]) != NULL)
                length--;
        } else if (memchr(before, '*', (size_t)(at - before)) != NULL) {
            length = (size_t)(before - start);
        }
        char *factor = alloc_string_n(start, length);
        const char *dimension = strstr(factor, "blockDim.");
        covered = length == 0 || find_item(init, factor) != NULL ? NULL
                  : dimension != NULL                            ? alloc_string(block)
                                                                 : translate(init, factor);
        if (length > 0 && covered == NULL && find_item(init, factor) == NULL)
            covered = alloc_string(block);
        free(factor);
    }
    free(body);
    return covered;
}

/* Threads per block that the source leaves to the launch, as parameters with their value or, for the sweep, a list. */
static void write_block_sizes(const struct init *init, bool sweep, FILE *out)
{
    static const char *const names[] = {"block_size", "block_x", "block_y", "block_z"};
    static const char *const values[] = {"256", "32", "8", "1"};
    static const char *const lists[] = {"64..1024 step *2", "16, 32, 64", "1, 2, 4, 8, 16",
                                        "1, 2, 4"};
    bool wanted[4] = {false};
    for (size_t i = 0; i < init->chosen_count; i++)
        for (int axis = 0, axes = count_axes(init->chosen[i]); axis < axes; axis++) {
            char *text = block_text(init, init->chosen[i], axis, axes);
            for (size_t j = 0; j < 4; j++)
                wanted[j] =
                    wanted[j] || (strcmp(text, names[j]) == 0 && !has_parameter(init, text));
            free(text);
        }
    if (!sweep && (wanted[0] || wanted[1] || wanted[2] || wanted[3]))
        fputs("\n[launch_parameters]\n", out);
    for (size_t j = 0; j < 4; j++)
        if (wanted[j])
            fprintf(out, "%s = %s\n", names[j], sweep ? lists[j] : values[j]);
}

/* --- what is written --- */

static void gap(struct init *init, const char *text)
{
    init->gaps++;
    fprintf(init->out, "; TODO: %s\n", text);
}

static void write_numbers(const struct init *init)
{
    fputs("\n[parameters]\n", init->out);
    for (size_t i = 0; i < init->number_count; i++) {
        const struct number *number = &init->numbers[i];
        if (number->used && number->guarded)
            fprintf(init->out, "%s = %ld\n", number->name, number->value);
        else if (number->used)
            fprintf(init->out,
                    "; to tune %s, put #ifndef %s and #endif around line %d of the source, and add "
                    "here:\n; %s = %ld\n",
                    number->macro, number->macro, number->line, number->name, number->value);
    }
    write_block_sizes(init, false, init->out);
}

static void write_problem(const struct init *init)
{
    static const char *const tiny[] = {"eps", NULL};
    static const char *const small[] = {"radius", "stride", "pad", "offset", "axis", "mode", NULL};
    size_t sizes = 0;
    for (size_t i = 0; i < init->item_count; i++)
        sizes += !init->items[i].buffer && !init->items[i].floating;
    fputs("\n[problem]\n", init->out);
    for (size_t i = 0; i < init->item_count; i++) {
        const struct item *item = &init->items[i];
        if (!item->buffer && item->type != NULL)
            fprintf(init->out, "%s = %s\n", item->name,
                    item->floating ? (has_word(item->name, tiny) ? "1e-5" : "1.5")
                    : item->truth || has_word(item->name, small) ? "1"
                    : sizes == 1                                 ? "2^22"
                    : sizes == 2                                 ? "2048"
                                                                 : "512");
    }
}

static void write_buffer(struct init *init, const struct item *item)
{
    char *usual = length_text(init, false);
    const char *length = item->symbol || item->length != NULL ? item->length : usual;
    fprintf(init->out, "\n[buffer.%s]\n", item->name);
    if (item->type != NULL)
        fprintf(init->out, "type = %s\n", item->type);
    else
        gap(init, "type: of its elements, which the source does not say in basic types");
    if (item->symbol)
        fprintf(init->out, "symbol = %s\n", item->spelt);
    if (length != NULL)
        fprintf(init->out, "length = %s\n", length);
    else
        gap(init, "length: how many elements, such as rows * columns");
    fprintf(init->out, "access = %s\n",
            !item->writes ? "read"
            : item->reads ? "read_write"
                          : "write");
    if (item->sums)
        fputs("fill = constant(0)\n", init->out);
    else if (item->reads && item->floating)
        fputs("fill = uniform(-1, 1)\n", init->out);
    else if (item->reads && item->type != NULL && strstr(item->type, "int8") != NULL)
        fputs("fill = integers(0, 127)\n", init->out);
    else if (item->reads)
        gap(init, "fill: what it holds, such as integers(0, 9), counting(0, 1) or constant(0)");
    free(usual);
}

/* The value of a template's parameter of this number: a macro of a number, or float for a type of buffers. */
static void append_value(char **entry, const struct init *init, const struct source_kernel *kernel,
                         int index)
{
    const char *text = kernel->types[index];
    char *spelt = declared_name(text);
    const struct number *number = find_number(init, spelt);
    bool type = strncmp(text, "typename", 8) == 0 || strncmp(text, "class", 5) == 0;
    bool usual = strlen(spelt) == 1 || strstr(spelt, "type") != NULL;
    for (size_t i = 0; i < kernel->signature.count; i++)
        usual = usual || kernel->signature.parameters[i].type_parameter == index;
    for (const char *at = number != NULL ? number->name : ""; *at != '\0'; at++)
        alloc_append(entry, "%c", toupper((unsigned char)*at));
    if (number == NULL)
        alloc_append(entry, "%s%s", type && usual ? "float" : "TODO_", type && usual ? "" : spelt);
    free(spelt);
}

static char *entry_text(const struct init *init, const struct source_kernel *kernel)
{
    bool mangled = !kernel->is_c && kernel->scope[0] == '\0' && kernel->type_count == 0;
    char *entry = alloc_format("%s%s%s", mangled ? "::" : "", kernel->is_c ? "" : kernel->scope,
                               kernel->name);
    for (size_t i = 0; i < kernel->type_count; i++) {
        alloc_append(&entry, "%s", i == 0 ? "<" : ", ");
        append_value(&entry, init, kernel, (int)i);
    }
    alloc_append(&entry, "%s", kernel->type_count > 0 ? ">" : "");
    return entry;
}

/* An argument as launches and references have it; a line that is too long goes on in the next. */
static void append_argument(char **arguments, const char *type, const char *text)
{
    enum { LINE_LETTERS = 90 };
    const char *line = strrchr(*arguments, '\n');
    bool full = strlen(line != NULL ? line : *arguments) > LINE_LETTERS;
    alloc_append(arguments, "%s%s%s%s",
                 (*arguments)[0] == '\0' ? ""
                 : full                  ? ",\n    "
                                         : ", ",
                 type, type[0] != '\0' ? " " : "", text);
}

static void append_item(char **arguments, const struct item *item)
{
    char *truth = alloc_format("%s != 0", item->name);
    if (item->type == NULL && !item->buffer)
        append_argument(arguments, "", "TODO");
    else
        append_argument(arguments,
                        item->buffer  ? ""
                        : item->truth ? "bool"
                                      : item->type,
                        item->truth && !item->buffer ? truth : item->name);
    free(truth);
}

static void write_launch(struct init *init, const struct source_kernel *kernel)
{
    int axes = count_axes(kernel);
    char *entry = entry_text(init, kernel);
    char *arguments = alloc_string("");
    char *grid = alloc_string("");
    char *block = alloc_string("");
    bool known = true;
    for (size_t i = 0; i < kernel->signature.count; i++) {
        char *spelt = declared_name(kernel->signature.parameters[i].text);
        append_item(&arguments, find_item(init, spelt));
        free(spelt);
    }
    for (int axis = 0; axis < 3 && (axis < axes || uses(kernel, indices[axis])); axis++) {
        char *threads = block_text(init, kernel, axis, axes);
        char *covered = covered_text(init, kernel, axis, threads);
        const struct item *rows = find_size(init, 1);
        const struct item *size =
            covered == NULL && rows != NULL && axis == 0 ? rows : find_size(init, axis);
        bool used = uses(kernel, indices[axis]);
        known = known && (!used || size != NULL);
        const char *name = size != NULL ? size->name : "";
        const char *comma = axis > 0 ? ", " : "";
        if (!used)
            alloc_append(&grid, "%s1", comma);
        else if (covered != NULL)
            alloc_append(&grid, "%sceil_div(%s, %s)", comma, name, covered);
        else
            alloc_append(&grid, "%s%s", comma, name);
        if (axis < axes)
            alloc_append(&block, "%s%s", comma, threads);
        free(threads);
        free(covered);
    }
    char *name = lower(init, kernel->name);
    fprintf(init->out, "\n[launch.%s]\n", name);
    if (strstr(entry, "TODO") != NULL)
        gap(init, "entry: a value for each TODO among the template's arguments");
    fprintf(init->out, "entry = %s\n", entry);
    if (known)
        fprintf(init->out, "grid = %s\n", grid);
    else
        gap(init, "grid: how many blocks, such as ceil_div(n, block_size)");
    fprintf(init->out, "block = %s\n", block);
    if (strstr(arguments, "TODO") != NULL)
        gap(init, "arguments: a struct(...), tensor_map(...) or texture(...) for each TODO");
    fprintf(init->out, "arguments = %s\n", arguments);
    free(name);
    free(entry);
    free(arguments);
    free(grid);
    free(block);
}

/* The expected result of an output, and its reference in the other file. */
static void write_expectation(struct init *init, const struct item *output, bool only,
                              FILE *reference)
{
    const struct source_kernel *kernel = init->chosen[init->chosen_count - 1];
    bool floating = output->floating || output->type == NULL;
    int type = output->type != NULL ? element_from_name(output->type, strlen(output->type)) : -1;
    char *name = only ? alloc_format("%s_reference", kernel->name)
                      : alloc_format("%s_%s_reference", kernel->name, output->spelt);
    char *arguments = alloc_string("");
    char *length = output->length == NULL ? length_text(init, true) : NULL;
    fprintf(reference, "\nextern \"C\" __global__ void %s(", name);
    for (size_t i = 0; i <= init->item_count; i++) { /* the reference is behind the buffers */
        const struct item *item = &init->items[i];
        bool last = i == init->item_count;
        bool passed = !last && item->type != NULL && item->buffer && item->reads;
        if (!passed)
            continue;
        append_item(&arguments, item);
        fprintf(
            reference, "const %s *%s, ",
            element_cpp_name((enum element_type)element_from_name(item->type, strlen(item->type))),
            item->symbol ? item->name : item->spelt);
    }
    append_argument(&arguments, "", "reference");
    fprintf(reference, "%s *reference",
            floating ? "double" : element_cpp_name((enum element_type)type));
    for (size_t i = 0; i < init->item_count; i++) {
        const struct item *item = &init->items[i];
        if (item->buffer || item->type == NULL)
            continue;
        append_item(&arguments, item);
        fprintf(reference, ", %s %s",
                item->truth ? "bool"
                            : element_cpp_name((enum element_type)element_from_name(
                                  item->type, strlen(item->type))),
                item->spelt);
    }
    fprintf(reference, ")\n{\n");
    if (length != NULL)
        fprintf(reference,
                "    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < %s;\n"
                "         i += (long long)gridDim.x * blockDim.x)\n",
                length);
    fprintf(reference,
            "#error \"TODO: reference[i] = what %s must hold at i, computed slowly and "
            "obviously\"\n}\n",
            output->spelt);
    init->gaps++;
    fprintf(init->out, "\n[expect.%s]\nreference = %s\n%sarguments = %s\ncompare = %s\n",
            output->name, name, output->length != NULL ? "" : "grid = 64\nblock = 256\n", arguments,
            !floating                                                  ? "exact"
            : type >= 0 && element_bytes((enum element_type)type) == 2 ? "close(1e-2, 1e-2)"
            : type == ELEMENT_DOUBLE                                   ? "close(1e-12, 1e-10)"
                                                                       : "close(1e-5, 1e-4)");
    free(name);
    free(arguments);
    free(length);
}

static void write_metrics(const struct init *init)
{
    char *length = length_text(init, false);
    size_t bytes = 0;
    for (size_t i = 0; i < init->item_count; i++) {
        const struct item *item = &init->items[i];
        int type = item->type != NULL ? element_from_name(item->type, strlen(item->type)) : -1;
        if (item->buffer && item->length == NULL && type >= 0)
            bytes += element_bytes((enum element_type)type) * (item->reads + (size_t)item->writes);
    }
    if (length != NULL)
        fprintf(init->out, "\n[metrics]\nbytes = %zu * %s\n", bytes, length);
    free(length);
}

static void write_kernel(const struct init *init, const char *source)
{
    char *define = alloc_string("");
    for (size_t i = 0; i < init->number_count; i++) { /* macros that are not in capitals */
        const struct number *number = &init->numbers[i];
        bool capitals = true;
        for (size_t j = 0; number->name[j] != '\0'; j++)
            capitals = capitals && toupper((unsigned char)number->name[j]) == number->macro[j];
        if (number->used && number->guarded && number->line > 0 && !capitals)
            alloc_append(&define, "%s%s = %s", define[0] != '\0' ? ", " : "", number->macro,
                         number->name);
    }
    fprintf(init->out,
            "; Written by `autotune init` from the kernels of %s.\n[kernel]\nsource = "
            "%s_reference.cu\n%s",
            source, init->name, init->source.left_out_count > 0 ? "host_code = ignore\n" : "");
    if (define[0] != '\0')
        fprintf(init->out, "define = %s\n", define);
    free(define);
}

static void write_template(struct init *init, const char *source, FILE *reference)
{
    size_t outputs = 0;
    write_kernel(init, source);
    write_numbers(init);
    write_problem(init);
    for (size_t i = 0; i < init->item_count; i++) {
        outputs += init->items[i].writes;
        if (init->items[i].buffer)
            write_buffer(init, &init->items[i]);
    }
    for (size_t i = 0; i < init->chosen_count; i++)
        write_launch(init, init->chosen[i]);
    for (size_t i = 0; i < init->item_count; i++)
        if (init->items[i].writes)
            write_expectation(init, &init->items[i], outputs == 1, reference);
    if (outputs == 0) {
        fputs("\n[expect.output]\n", init->out);
        gap(init, "the name of the output here instead of 'output', and its reference");
    }
    write_metrics(init);
}

/* Powers of two around a number of threads, small numbers for what a thread does, or the value alone. */
static void write_values(const struct number *number, FILE *out)
{
    static const char *const small[] = {"rows",    "unroll", "per_thread", "items", "vec",
                                        "coarsen", "stages", "tuned_",     NULL};
    static const char *const tiles[] = {"tile", "block_x", "block_y", "dim", NULL};
    long value = number->value;
    bool power = value > 0 && (value & (value - 1)) == 0;
    if (number->flag)
        fprintf(out, "%s = 0, 1\n", number->name);
    else if (power && has_word(number->name, tiles) && value <= 128)
        fprintf(out, "%s = %ld, %ld, %ld\n", number->name, value > 1 ? value / 2 : 1,
                value > 1 ? value : 2, value > 1 ? 2 * value : 4);
    else if (power && is_threads(number) && value >= 32 && value <= 1024)
        fprintf(out, "%s = %ld..%ld step *2\n", number->name, value / 4 < 32 ? 32 : value / 4,
                value * 4 > 1024 ? 1024 : value * 4);
    else if (power && has_word(number->name, small) && value <= 16)
        fprintf(out, "%s = 1..%d step *2\n", number->name, value > 4 ? 16 : 8);
    else
        fprintf(out, "%s = %ld\n", number->name, value);
}

static void write_sweep(const struct init *init, FILE *out)
{
    fprintf(out, "[sweep]\ntemplates = .\n\n[%s]\n", init->name);
    for (size_t i = 0; i < init->number_count; i++)
        if (init->numbers[i].used && init->numbers[i].guarded)
            write_values(&init->numbers[i], out);
    write_block_sizes(init, true, out);
    for (size_t i = 0; i < init->chosen_count; i++) {
        int axes = count_axes(init->chosen[i]);
        for (int axis = 0; axis < axes && axes > 1; axis++) {
            char *threads = block_text(init, init->chosen[i], axis, axes);
            fprintf(out, "%s%s", axis == 0 ? "constraint = " : " * ", threads);
            free(threads);
        }
        fputs(axes > 1 ? " <= max_threads_per_block\n" : "", out);
    }
}

/* --- files --- */

static char *in_folder(const char *folder, const char *name, const char *suffix)
{
    return strcmp(folder, ".") == 0 ? alloc_format("%s%s", name, suffix)
                                    : alloc_format("%s/%s%s", folder, name, suffix);
}

/* Writes files of which none may exist, and frees paths and texts. */
static int write_files(char **paths, char **texts, size_t count, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        if (access(paths[i], F_OK) == 0)
            status = error_set(error, ERROR_CONFIG,
                               "'%s' exists and stays as it is; move it away, or name another "
                               "folder with --output",
                               paths[i]);
    for (size_t i = 0; i < count && status == 0; i++) {
        status = write_file_make_folders(paths[i], error);
        if (status == 0)
            status = write_file_bytes(paths[i], texts[i], strlen(texts[i]), error);
        if (status == 0)
            printf("wrote %s\n", paths[i]);
    }
    for (size_t i = 0; i < count; i++) {
        free(paths[i]);
        free(texts[i]);
    }
    return status;
}

/* The source as the folder's files name it: by its name, if it is there; a new string. */
static char *source_name(const struct init *init)
{
    const char *path = init->source.files[0].path;
    char *folder = realpath(init->folder, NULL);
    size_t length = folder != NULL ? strlen(folder) : 0;
    bool there = folder != NULL && strncmp(path, folder, length) == 0 && path[length] == '/';
    free(folder);
    return alloc_string(there ? path + length + 1 : path);
}

static int write_all(struct init *init, struct error *error)
{
    static const char *const suffixes[] = {".ini", "_reference.cu", "_sweep.ini"};
    char *paths[3], *texts[3] = {NULL};
    FILE *streams[3];
    size_t lengths[3];
    char *source = source_name(init);
    for (size_t i = 0; i < 3; i++) {
        paths[i] = in_folder(init->folder, init->name, suffixes[i]);
        streams[i] = alloc_stream(&texts[i], &lengths[i]);
    }
    init->out = streams[0];
    fprintf(streams[1],
            "// What the kernels of %s, which stays as it is, must compute.\n#include \"%s\"\n",
            source, source);
    write_template(init, source, streams[1]);
    write_sweep(init, streams[2]);
    for (size_t i = 0; i < 3; i++)
        (void)fclose(streams[i]);
    char *sweep = alloc_string(paths[2]);
    int status = write_files(paths, texts, 3, error);
    if (status == 0)
        printf("%zu places to complete are marked TODO in them; this shows the next one:\n"
               "autotune check %s --compile\n",
               init->gaps, sweep);
    free(sweep);
    free(source);
    return status;
}

/* --- kernels --- */

static int choose(struct init *init, char *const *entries, struct error *error)
{
    char *names = alloc_string("");
    int status = 0;
    for (size_t i = 0; i < init->kernel_count; i++)
        alloc_append(&names, "%s%s", i > 0 ? ", " : "", init->kernels[i].name);
    for (; *entries != NULL && status == 0; entries++) {
        size_t i = 0;
        while (i < init->kernel_count && strcmp(init->kernels[i].name, *entries) != 0)
            i++;
        if (i == init->kernel_count)
            status = error_set(error, ERROR_USAGE, "'%s' has no kernel '%s'; it has: %s",
                               init->path, *entries, names);
        else
            *ARRAY_APPEND(init->chosen, init->chosen_count) = &init->kernels[i];
    }
    if (status == 0 && init->kernel_count == 0)
        status = error_set(error, ERROR_CONFIG, "'%s' has no __global__ function", init->path);
    else if (status == 0 && init->chosen_count == 0 && init->kernel_count == 1)
        *ARRAY_APPEND(init->chosen, init->chosen_count) = &init->kernels[0];
    else if (status == 0 && init->chosen_count == 0)
        status = error_set(error, ERROR_USAGE,
                           "'%s' has several kernels; name those that run one after another: %s",
                           init->path, names);
    free(names);
    return status;
}

static void read_source(struct init *init)
{
    for (size_t i = 0; i < init->source.followed_count; i++) {
        struct source_kernel *kernels;
        size_t count = source_kernels_read(init->source.files[i].text, &kernels);
        for (size_t j = 0; j < count; j++)
            *ARRAY_APPEND(init->kernels, init->kernel_count) = kernels[j];
        free(kernels);
        read_numbers(init, &init->source.files[i], false);
    }
    for (size_t i = 0; i < init->source.followed_count; i++)
        read_numbers(init, &init->source.files[i], true);
}

static int init_source(struct init *init, char *const *entries, struct error *error)
{
    static const char *const roots[] = {"float"};
    const struct source_files files = {
        .paths = &init->path, .path_count = 1, .roots = roots, .root_count = 1};
    int status = source_load_files(&init->source, &files, error);
    if (status == 0) {
        const char *slash = strrchr(init->path, '/');
        char *stem = alloc_string(slash != NULL ? slash + 1 : init->path);
        stem[strcspn(stem, ".")] = '\0';
        init->name = lower(init, stem);
        free(stem);
        read_source(init);
        status = choose(init, entries, error);
    }
    for (size_t i = 0; i < init->chosen_count && status == 0; i++) {
        for (size_t j = 0; j < init->chosen[i]->type_count; j++)
            add_template_number(init, init->chosen[i]->types[j]);
        for (size_t j = 0; j < init->chosen[i]->signature.count; j++)
            add_item(init, &init->chosen[i]->signature.parameters[j], init->chosen[i]);
    }
    for (size_t i = 0; i < init->source.followed_count && status == 0; i++)
        read_constants(init, init->source.files[i].text);
    if (status == 0)
        status = write_all(init, error);
    for (size_t i = 0; i < init->number_count; i++) {
        free(init->numbers[i].macro);
        free(init->numbers[i].name);
        free(init->numbers[i].text);
    }
    for (size_t i = 0; i < init->item_count; i++) {
        free(init->items[i].name);
        free(init->items[i].spelt);
        free(init->items[i].type);
        free(init->items[i].length);
    }
    source_kernels_free(init->kernels, init->kernel_count);
    source_release(&init->source);
    free(init->numbers);
    free(init->items);
    free(init->chosen);
    free(init->name);
    return status;
}

/* --- a project --- */

extern const char project_source[], project_template[],
    project_sweep[]; /* of project/, made by CMake */

static int init_project(const char *folder, struct error *error)
{
    char *paths[] = {in_folder(folder, "kernels/saxpy.cu", ""),
                     in_folder(folder, "kernels/saxpy.ini", ""),
                     in_folder(folder, "sweep.ini", "")};
    char *texts[] = {alloc_string(project_source), alloc_string(project_template),
                     alloc_string(project_sweep)};
    int status = write_files(paths, texts, 3, error);
    if (status == 0)
        printf("results go into results/ of the folder from which autotune runs; next, in '%s':\n"
               "autotune sweep.ini\n",
               folder);
    return status;
}

static int init(void *user, struct command_input *input, struct error *error)
{
    const struct command_options *options = user;
    char *folder = options->output != NULL ? options->output : (char[]){"."};
    struct init init = {.path = input->arguments[0], .folder = folder};
    return init.path == NULL ? init_project(folder, error)
                             : init_source(&init, input->arguments + 1, error);
}

int command_init(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {option_text("output", 'o', &options.output,
                                                   "the folder to write (default: the current one)",
                                                   "DIR"),
                                       POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_ARGUMENTS,
        "init [FILE.cu [ENTRY...]]\n\n"
        "Writes a template and a sweep for kernels of a source, which stays as it is,\n"
        "and a file for the reference. What the source does not say is left as a gap,\n"
        "marked TODO. Several entries are launches that run one after another.\n"
        "Without a file, writes a project with an example: kernels/ and sweep.ini.\n\n"
        "Example: autotune init saxpy.cu saxpy",
        init, &options};
    return command_perform(argc, argv, &line, error);
}
