#include "template/source_signature.h"

#include "base/alloc.h"
#include "template/source_lexer.h"
#include "template/value_list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one parameter --- */

/* What has been read of a parameter's type. */
struct type_words {
    int longs, shorts, pointers;
    bool is_unsigned, is_signed, is_int, is_const;
    bool foreign; /* something that is not understood */
    bool named;   /* `element` is set */
    size_t
        names; /* other names: at most the parameter's own, and the template's type parameter before it */
    char first[64]; /* of these; "" if it is longer */
    enum element_type element;
};

/* A type of one word; false if it is not one. */
static bool name_type(const char *word, enum element_type *type)
{
    static const struct {
        const char *name;
        enum element_type type;
    } types[] = {
        {"float", ELEMENT_FLOAT},
        {"double", ELEMENT_DOUBLE},
        {"char", ELEMENT_INT8},
        {"bool", ELEMENT_UINT8},
        {"int8_t", ELEMENT_INT8},
        {"int16_t", ELEMENT_INT16},
        {"int32_t", ELEMENT_INT32},
        {"int64_t", ELEMENT_INT64},
        {"uint8_t", ELEMENT_UINT8},
        {"uint16_t", ELEMENT_UINT16},
        {"uint32_t", ELEMENT_UINT32},
        {"uint64_t", ELEMENT_UINT64},
        {"size_t", ELEMENT_UINT64},
        {"ptrdiff_t", ELEMENT_INT64},
        {"half", ELEMENT_HALF},
        {"__half", ELEMENT_HALF},
        {"nv_bfloat16", ELEMENT_BFLOAT16},
        {"__nv_bfloat16", ELEMENT_BFLOAT16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, word) != 0)
            continue;
        *type = types[i].type;
        return true;
    }
    return false;
}

static void add_name(struct type_words *words, const char *word)
{
    static const char *const ignored[] = {"const",        "volatile",   "restrict",
                                          "__restrict__", "__restrict", "__grid_constant__",
                                          "std",          NULL};
    words->is_const = words->is_const || (words->pointers == 0 && strcmp(word, "const") == 0);
    if (names_have(ignored, word))
        return;
    if (strcmp(word, "unsigned") == 0)
        words->is_unsigned = true;
    else if (strcmp(word, "signed") == 0)
        words->is_signed = true;
    else if (strcmp(word, "int") == 0)
        words->is_int = true;
    else if (strcmp(word, "long") == 0)
        words->longs++;
    else if (strcmp(word, "short") == 0)
        words->shorts++;
    else if (!words->named && words->names == 0 && name_type(word, &words->element))
        words->named = true;
    else if (words->names++ == 0 && strlen(word) < sizeof words->first)
        (void)snprintf(words->first, sizeof words->first, "%s", word);
}

static void add_punctuation(struct type_words *words, const char *token)
{
    if (strcmp(token, "*") == 0 || strcmp(token, "[") == 0)
        words->pointers++;
    else if (strcmp(token, "::") != 0 && strcmp(token, "]") != 0)
        words->foreign = true;
}

/* The type of the words; false if they are none of the basic ones. */
static bool read_type(const struct type_words *words, enum element_type *type)
{
    bool integer = words->is_unsigned || words->is_signed || words->is_int || words->longs > 0 ||
                   words->shorts > 0;
    bool is_char = words->named && words->element == ELEMENT_INT8;
    *type = words->element;
    if (words->foreign || words->names > 1 || words->pointers > 1)
        return false;
    if (integer && words->named && !is_char)
        return false;
    if (is_char)
        *type = words->is_unsigned ? ELEMENT_UINT8 : ELEMENT_INT8;
    else if (integer && words->longs > 0)
        *type = words->is_unsigned ? ELEMENT_UINT64 : ELEMENT_INT64;
    else if (integer && words->shorts > 0)
        *type = words->is_unsigned ? ELEMENT_UINT16 : ELEMENT_INT16;
    else if (integer)
        *type = words->is_unsigned ? ELEMENT_UINT32 : ELEMENT_INT32;
    return integer || words->named;
}

/* --- a declaration --- */

struct reading {
    struct source_lexer lexer;
    enum token_kind kind; /* of the current token */
    char **types;         /* the template's parameters; "" for one that is not a type */
    char **texts;         /* the same as they are written */
    size_t type_count;
};

static enum token_kind next(struct reading *reading)
{
    reading->kind = source_lexer_next(&reading->lexer);
    return reading->kind;
}

static bool at(const struct reading *reading, const char *token)
{
    return strcmp(reading->lexer.token, token) == 0;
}

static void append(char **text, const struct reading *reading)
{
    bool space = reading->lexer.spaced && (*text)[0] != '\0';
    alloc_append(text, "%s%s", space ? " " : "", reading->lexer.token);
}

/* The open brackets, the innermost in the lowest bit: 1 for '<', 0 for another. */
struct brackets {
    uint64_t kinds;
    int depth;
};

/* '>' closes a '<', and ">>" two; within other brackets, they compare and shift. */
static void count_brackets(struct brackets *brackets, const char *token)
{
    size_t closed = strspn(token, ">");
    if (closed == strlen(token)) {
        for (; closed > 0 && (brackets->kinds & 1) != 0; closed--, brackets->depth--)
            brackets->kinds >>= 1;
    } else if (strcmp(token, ")") == 0 || strcmp(token, "]") == 0 || strcmp(token, "}") == 0) {
        brackets->kinds >>= 1;
        brackets->depth--;
    } else if (strcmp(token, "(") == 0 || strcmp(token, "[") == 0 || strcmp(token, "{") == 0 ||
               strcmp(token, "<") == 0) {
        brackets->kinds = brackets->kinds << 1 | (token[0] == '<');
        brackets->depth++;
    }
}

static void forget_template(struct reading *reading)
{
    texts_free(reading->types, reading->type_count);
    for (size_t i = 0; i < reading->type_count; i++)
        free(reading->texts[i]);
    free(reading->texts);
    reading->types = reading->texts = NULL;
    reading->type_count = 0;
}

/* The parameters behind "template". An explicit instantiation has none. */
static void read_template(struct reading *reading)
{
    struct brackets brackets = {0};
    char *name = alloc_string("");
    char *text = alloc_string("");
    bool first = true, type = false;
    forget_template(reading);
    (void)next(reading);
    count_brackets(&brackets, reading->lexer.token);
    while (brackets.depth > 0 && next(reading) != TOKEN_END) {
        bool separates = brackets.depth == 1 && at(reading, ",");
        count_brackets(&brackets, reading->lexer.token);
        if (separates || brackets.depth == 0) {
            size_t count = reading->type_count;
            *ARRAY_APPEND(reading->texts, count) = text;
            *ARRAY_APPEND(reading->types, reading->type_count) = name;
            name = alloc_string("");
            text = alloc_string("");
            first = true;
            continue;
        }
        append(&text, reading);
        if (first)
            type = at(reading, "typename") || at(reading, "class");
        else if (type && name[0] == '\0' && reading->kind == TOKEN_NAME) {
            free(name);
            name = alloc_string(reading->lexer.token);
        }
        first = false;
    }
    free(name);
    free(text);
}

static int find_type_parameter(const struct reading *reading, const struct type_words *words)
{
    bool plain = !words->foreign && !words->named && words->pointers <= 1 && words->names <= 2 &&
                 words->first[0] != '\0';
    for (size_t i = 0; i < reading->type_count && plain; i++)
        if (strcmp(reading->types[i], words->first) == 0)
            return (int)i;
    return -1;
}

/* One parameter up to the comma or parenthesis behind it; false at a directive or the end. */
static bool read_parameter(struct reading *reading, struct source_parameter *parameter)
{
    struct type_words words = {0};
    struct brackets brackets = {0};
    bool value = false; /* behind "=": a default */
    parameter->text = alloc_string("");
    parameter->name = alloc_string("");
    while (reading->kind != TOKEN_END && reading->kind != TOKEN_DIRECTIVE) {
        if (brackets.depth == 0 && (at(reading, ",") || at(reading, ")"))) {
            parameter->pointer = words.pointers > 0;
            parameter->constant = words.is_const;
            parameter->known = read_type(&words, &parameter->type);
            parameter->type_parameter = find_type_parameter(reading, &words);
            parameter->known = parameter->known && parameter->type_parameter < 0;
            return true;
        }
        count_brackets(&brackets, reading->lexer.token);
        value = value || at(reading, "=");
        append(&parameter->text, reading);
        if (!value && reading->kind == TOKEN_NAME && brackets.depth == 0) {
            free(parameter->name);
            parameter->name = alloc_string(reading->lexer.token);
        }
        if (!value && reading->kind == TOKEN_NAME)
            add_name(&words, reading->lexer.token);
        else if (!value && reading->kind == TOKEN_PUNCTUATION)
            add_punctuation(&words, reading->lexer.token);
        (void)next(reading);
    }
    return false;
}

/* The parameters behind the opening parenthesis. */
static bool read_parameters(struct reading *reading, struct source_signature *signature)
{
    (void)next(reading);
    while (!at(reading, ")")) {
        struct source_parameter *parameter = ARRAY_APPEND(signature->parameters, signature->count);
        if (!read_parameter(reading, parameter))
            return false;
        if (at(reading, ","))
            (void)next(reading);
    }
    if (signature->count == 1 && strcmp(signature->parameters[0].text, "void") == 0)
        source_signature_release(signature);
    return true;
}

static bool is_same(const struct source_signature *a, const struct source_signature *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->parameters[i].text, b->parameters[i].text) == 0;
    return same;
}

/* Skips to the next declaration of `entry`, behind its opening parenthesis; false at the end. */
static bool find_declaration(struct reading *reading, const char *entry)
{
    bool kernel = false; /* __global__ is before, in the same declaration */
    while (next(reading) != TOKEN_END) {
        if (reading->kind == TOKEN_DIRECTIVE)
            while (reading->kind != TOKEN_DIRECTIVE_END && reading->kind != TOKEN_END)
                (void)next(reading);
        else if (reading->kind == TOKEN_PUNCTUATION &&
                 (at(reading, ";") || at(reading, "{") || at(reading, "}"))) {
            kernel = false;
            forget_template(reading);
        } else if (reading->kind == TOKEN_NAME && at(reading, "template"))
            read_template(reading);
        else if (reading->kind == TOKEN_NAME && at(reading, "__global__"))
            kernel = true;
        else if (kernel && reading->kind == TOKEN_NAME && at(reading, entry) &&
                 next(reading) == TOKEN_PUNCTUATION && at(reading, "("))
            return true;
    }
    return false;
}

/* "scale" of "ns::scale<float, TILE>"; a new string. */
static char *function_name(const char *entry)
{
    char *name = alloc_string_n(entry, strcspn(entry, "<"));
    for (char *at; (at = strstr(name, "::")) != NULL;)
        memmove(name, at + 2, strlen(at + 2) + 1);
    size_t blanks = strspn(name, " ");
    size_t length = strcspn(name + blanks, " ");
    memmove(name, name + blanks, length);
    name[length] = '\0';
    return name;
}

bool source_signature_declares(const char *text, const char *entry)
{
    struct reading reading = {0};
    char *name = function_name(entry);
    source_lexer_init(&reading.lexer, text);
    bool found = find_declaration(&reading, name);
    source_lexer_release(&reading.lexer);
    forget_template(&reading);
    free(name);
    return found;
}

bool source_signature_read(const char *text, const char *entry, struct source_signature *signature)
{
    struct reading reading = {0};
    size_t found = 0;
    bool plain = true;
    char *name = function_name(entry);
    *signature = (struct source_signature){0};
    source_lexer_init(&reading.lexer, text);
    while (plain && find_declaration(&reading, name)) {
        struct source_signature other = {0};
        plain = read_parameters(&reading, found == 0 ? signature : &other) &&
                (found == 0 || is_same(signature, &other));
        source_signature_release(&other);
        found++;
    }
    source_lexer_release(&reading.lexer);
    forget_template(&reading);
    free(name);
    if (!plain)
        source_signature_release(signature);
    return plain && found > 0;
}

/* --- all kernels --- */

enum { MOST_NAMESPACES = 16 };

struct listing {
    struct reading reading;
    char *scope;                     /* "ns::inner::" */
    size_t lengths[MOST_NAMESPACES]; /* of the scope outside of each open namespace; */
    int depths[MOST_NAMESPACES];     /* where that is */
    int open;
    int depth;   /* of braces */
    int c_depth; /* within extern "C" {…}; 0: outside */
    bool is_c, kernel;
    char *bounds;
};

/* "namespace a::b {", or an alias. */
static void read_namespace(struct listing *listing)
{
    struct reading *reading = &listing->reading;
    size_t length = strlen(listing->scope);
    while (next(reading) == TOKEN_NAME || at(reading, "::"))
        if (reading->kind == TOKEN_NAME)
            alloc_append(&listing->scope, "%s::", reading->lexer.token);
    if (!at(reading, "{") || listing->open == MOST_NAMESPACES) {
        listing->scope[length] = '\0';
        listing->depth += at(reading, "{");
        return;
    }
    listing->lengths[listing->open] = length;
    listing->depths[listing->open++] = ++listing->depth;
}

/* The first of "(256, 2)"; a new string. */
static char *read_first(struct reading *reading)
{
    char *text = alloc_string("");
    struct brackets brackets = {0};
    bool first = true;
    do {
        if (brackets.depth > 0 && first)
            append(&text, reading);
        (void)next(reading);
        count_brackets(&brackets, reading->lexer.token);
        first = first && !(brackets.depth == 1 && at(reading, ","));
    } while (brackets.depth > 0 && reading->kind != TOKEN_END);
    memmove(text, text + (text[0] == '('), strlen(text + (text[0] == '(')) + 1);
    return text;
}

static void skip_directive(struct reading *reading)
{
    while (reading->kind != TOKEN_DIRECTIVE_END && reading->kind != TOKEN_END)
        (void)next(reading);
}

/* A kernel of this name, behind the opening parenthesis; false if it is only declared. */
static bool read_kernel(struct listing *listing, const char *name, struct source_kernel *kernel)
{
    static const char *const indices[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", NULL};
    static const char *const others[] = {"y", "z", NULL};
    struct reading *reading = &listing->reading;
    struct brackets brackets = {0};
    bool index = false;
    *kernel = (struct source_kernel){.name = alloc_string(name),
                                     .scope = alloc_string(listing->scope),
                                     .is_c = listing->is_c || listing->c_depth > 0,
                                     .bounds = alloc_string(listing->bounds)};
    char *types = alloc_string("__global__ void types(");
    for (size_t i = 0; i < reading->type_count; i++)
        alloc_append(&types, "%s%s", i > 0 ? ", " : "", reading->texts[i]);
    alloc_append(&types, ");");
    (void)source_signature_read(types, "types", &kernel->types);
    free(types);
    bool defined = read_parameters(reading, &kernel->signature) && next(reading) != TOKEN_END &&
                   at(reading, "{");
    kernel->flat = true;
    while (defined && reading->kind != TOKEN_END) {
        if (reading->kind == TOKEN_DIRECTIVE)
            skip_directive(reading);
        else if (!at(reading, "<")) /* it compares, too */
            count_brackets(&brackets, reading->lexer.token);
        if (brackets.depth == 0)
            break;
        kernel->flat = kernel->flat && !(index && names_have(others, reading->lexer.token));
        index = names_have(indices, reading->lexer.token) || (index && at(reading, "."));
        (void)next(reading);
    }
    return defined;
}

static void end_declaration(struct listing *listing)
{
    listing->is_c = listing->kernel = false;
    forget_template(&listing->reading);
    free(listing->bounds);
    listing->bounds = NULL;
}

/* A brace or a semicolon. */
static void read_end(struct listing *listing)
{
    struct reading *reading = &listing->reading;
    if (at(reading, "{")) {
        listing->depth++;
        if (listing->is_c && listing->c_depth == 0)
            listing->c_depth = listing->depth;
    } else if (at(reading, "}")) {
        if (listing->open > 0 && listing->depths[listing->open - 1] == listing->depth)
            listing->scope[listing->lengths[--listing->open]] = '\0';
        if (listing->c_depth == listing->depth)
            listing->c_depth = 0;
        listing->depth--;
    }
    end_declaration(listing);
}

static void release_kernel(struct source_kernel *kernel)
{
    free(kernel->name);
    free(kernel->scope);
    source_signature_release(&kernel->types);
    free(kernel->bounds);
    source_signature_release(&kernel->signature);
}

size_t source_kernels_read(const char *text, struct source_kernel **kernels)
{
    struct listing listing = {.scope = alloc_string("")};
    struct reading *reading = &listing.reading;
    size_t count = 0;
    *kernels = NULL;
    source_lexer_init(&reading->lexer, text);
    while (next(reading) != TOKEN_END) {
        if (reading->kind == TOKEN_DIRECTIVE) {
            skip_directive(reading);
        } else if (at(reading, "{") || at(reading, "}") || at(reading, ";")) {
            read_end(&listing);
        } else if (reading->kind == TOKEN_TEXT) {
            listing.is_c = listing.is_c || at(reading, "\"C\"");
        } else if (reading->kind != TOKEN_NAME) {
            continue;
        } else if (at(reading, "namespace")) {
            read_namespace(&listing);
        } else if (at(reading, "template")) {
            read_template(reading);
        } else if (at(reading, "__global__")) {
            listing.kernel = true;
        } else if (at(reading, "__launch_bounds__")) {
            free(listing.bounds);
            listing.bounds = read_first(reading);
        } else if (listing.kernel) {
            char *name = alloc_string(reading->lexer.token);
            struct source_kernel *kernel = ARRAY_APPEND(*kernels, count);
            const char *behind = reading->lexer.at + strspn(reading->lexer.at, " \t\r\n");
            bool found = *behind == '(' && next(reading) == TOKEN_PUNCTUATION &&
                         read_kernel(&listing, name, kernel);
            if (!found) {
                release_kernel(kernel);
                count--;
            }
            if (*behind == '(')
                end_declaration(&listing);
            free(name);
        }
    }
    source_lexer_release(&reading->lexer);
    end_declaration(&listing);
    free(listing.scope);
    return count;
}

void source_kernels_free(struct source_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release_kernel(&kernels[i]);
    free(kernels);
}

/* --- macros --- */

size_t source_macros_read(const char *text, struct source_macro **macros)
{
    struct reading reading = {0};
    size_t count = 0;
    char *guard = alloc_string("");
    *macros = NULL;
    source_lexer_init(&reading.lexer, text);
    while (next(&reading) != TOKEN_END) {
        if (reading.kind != TOKEN_DIRECTIVE || next(&reading) != TOKEN_NAME)
            continue;
        bool guards = at(&reading, "ifndef");
        if ((!guards && !at(&reading, "define")) || next(&reading) != TOKEN_NAME)
            continue;
        if (guards) {
            free(guard);
            guard = alloc_string(reading.lexer.token);
        } else if (at(&reading, guard) && next(&reading) == TOKEN_NUMBER) {
            char *end;
            long value = strtol(reading.lexer.token, &end, 0);
            if (*end == '\0' && next(&reading) == TOKEN_DIRECTIVE_END)
                *ARRAY_APPEND(*macros, count) = (struct source_macro){alloc_string(guard), value};
        }
    }
    source_lexer_release(&reading.lexer);
    free(guard);
    return count;
}

/* --- mangled names --- */

/* A template's argument. */
struct template_argument {
    bool known;
    enum element_type type;
};

enum { MOST_ARGUMENTS = 32 };

/* A name with its length in front, "6__half"; NULL if it is cut. */
static const char *read_name(const char *at, struct template_argument *argument)
{
    char *end;
    size_t length = strtoul(at, &end, 10);
    if (length > strlen(end))
        return NULL;
    char *name = alloc_string_n(end, length);
    *argument = (struct template_argument){0};
    argument->known = name_type(name, &argument->type);
    free(name);
    return end + length;
}

static bool read_letter(char letter, struct template_argument *argument)
{
    static const struct {
        char letter;
        enum element_type type;
    } types[] = {{'f', ELEMENT_FLOAT},  {'d', ELEMENT_DOUBLE}, {'b', ELEMENT_UINT8},
                 {'c', ELEMENT_INT8},   {'a', ELEMENT_INT8},   {'h', ELEMENT_UINT8},
                 {'s', ELEMENT_INT16},  {'t', ELEMENT_UINT16}, {'i', ELEMENT_INT32},
                 {'j', ELEMENT_UINT32}, {'l', ELEMENT_INT64},  {'m', ELEMENT_UINT64},
                 {'x', ELEMENT_INT64},  {'y', ELEMENT_UINT64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].letter == letter) {
            *argument = (struct template_argument){true, types[i].type};
            return true;
        }
    return false;
}

/* Behind "Li4E" or "Lin4E"; NULL if it is something else. */
static const char *skip_number(const char *at)
{
    struct template_argument type;
    if (at[0] != 'L' || !read_letter(at[1], &type))
        return NULL;
    at += 2 + (at[2] == 'n');
    at += strspn(at, "0123456789");
    return *at == 'E' ? at + 1 : NULL;
}

/*
 * The arguments of _Z5scaleI6__halfS0_Li4EEvPKT_ and _ZN2ns5scaleIfEEvPT_, up to the first that is not a basic
 * type, a class or a number: the Itanium C++ ABI, 5.1. S_, S0_, S1_ … are the names before the arguments, and then
 * the classes among these. Returns how many.
 */
static size_t read_arguments(const char *symbol, struct template_argument arguments[MOST_ARGUMENTS])
{
    static const char digits[] = "0123456789";
    struct template_argument seen[2 * MOST_ARGUMENTS] = {0};
    size_t seen_count = 0;
    size_t count = 0;
    if (strncmp(symbol, "_Z", 2) != 0)
        return 0;
    const char *at = symbol + 2;
    at += *at == 'N' || *at == 'L';
    while (at != NULL && strspn(at, digits) > 0 && seen_count < MOST_ARGUMENTS)
        at = read_name(at, &seen[seen_count++]);
    if (at == NULL || *at++ != 'I')
        return 0;
    for (; count < MOST_ARGUMENTS; count++) {
        struct template_argument *argument = &arguments[count];
        *argument = (struct template_argument){0};
        if (read_letter(*at, argument)) {
            at++;
        } else if (strspn(at, digits) > 0) {
            if ((at = read_name(at, argument)) == NULL)
                return count;
            seen[seen_count++] = *argument;
        } else if (at[0] == 'S' && (at[1] == '_' || strspn(at + 1, digits) == 1)) {
            size_t number = at[1] == '_' ? 0 : (size_t)(at[1] - '0') + 1;
            at += number == 0 ? 2 : 3;
            if (number >= seen_count || at[-1] != '_')
                return count;
            *argument = seen[number];
        } else if ((at = skip_number(at)) == NULL) {
            return count;
        }
    }
    return count;
}

struct source_parameter source_parameter_in(const struct source_parameter *parameter,
                                            const char *symbol)
{
    struct template_argument arguments[MOST_ARGUMENTS];
    struct source_parameter instance = *parameter;
    size_t number = (size_t)parameter->type_parameter;
    if (parameter->type_parameter >= 0 && number < read_arguments(symbol, arguments) &&
        arguments[number].known) {
        instance.known = true;
        instance.type = arguments[number].type;
    }
    return instance;
}

void source_signature_release(struct source_signature *signature)
{
    for (size_t i = 0; i < signature->count; i++) {
        free(signature->parameters[i].text);
        free(signature->parameters[i].name);
    }
    free(signature->parameters);
    *signature = (struct source_signature){0};
}

char *source_signature_text(const struct source_signature *signature)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < signature->count; i++)
        alloc_append(&text, "%s%s", i > 0 ? ", " : "", signature->parameters[i].text);
    return text;
}
