#include "template/host_code.h"

#include "base/alloc.h"
#include "template/compiler_option.h"
#include "template/source_lexer.h"
#include "template/value_list.h"

#include <fnmatch.h>
#include <search.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- words and tokens --- */

/* A token's text; for one that is a macro, also what it stands for. */
struct word {
    char *text;
    bool live;        /* code that stays names it; */
    bool unevaluated; /* within decltype and the like */
    bool is_namespace;
    bool macro, visited;
    struct word **body; /* the tokens of all its definitions */
    size_t body_count;
};

enum fate { TOKEN_STAYS, TOKEN_GOES, TOKEN_ENDS /* goes, and a semicolon takes its place */ };

struct token {
    struct word *word;
    const char *start, *end;
    int line;
    enum token_kind kind;
    enum fate fate;
    bool in_directive;
    bool pragma;    /* in one, which goes with the code around it */
    bool annotated; /* gets `__host__ __device__` in front */
};

/* When a declaration stays. */
enum keep { KEEP_ALWAYS, KEEP_NAMESPACE, KEEP_NAMED, KEEP_UNEVALUATED, KEEP_NEVER };

enum { MOST_NAMES = 6 };

struct declaration {
    size_t file, first, end; /* its tokens; `end` is 0 as long as it is open */
    struct word *names[MOST_NAMES];
    size_t name_count;
    enum keep keep;
    size_t annotate; /* the token in front of which an annotation is needed; SIZE_MAX: none is */
    bool live;
};

struct file_tokens {
    struct token *items;
    size_t count;
};

struct removal {
    struct host_code *code;
    void *words; /* of tsearch() */
    struct file_tokens *files;
    struct declaration *declarations;
    size_t declaration_count;
};

static int compare_words(const void *left, const void *right)
{
    return strcmp(((const struct word *)left)->text, ((const struct word *)right)->text);
}

static struct word *get_word(struct removal *removal, const char *text)
{
    struct word key = {.text = (char *)(uintptr_t)text};
    struct word **found = tfind(&key, &removal->words, compare_words);
    if (found != NULL)
        return *found;
    struct word *word = alloc_zeroed(1, sizeof *word);
    word->text = alloc_string(text);
    (void)tsearch(word, &removal->words, compare_words);
    return word;
}

static void free_word(void *item)
{
    struct word *word = item;
    free(word->text);
    free(word->body);
    free(word);
}

static bool is(const struct word *word, const char *text)
{
    return word != NULL && strcmp(word->text, text) == 0;
}

static bool is_one_of(const struct word *word, const char *const *texts)
{
    return word != NULL && names_have(texts, word->text);
}

/* Puts the macro into the table that the latest directive, from `first` on, defines. */
static void note_directive(const struct file_tokens *tokens, size_t first)
{
    struct token *items = tokens->items;
    size_t last = tokens->count - 1; /* the end of its line */
    size_t at = first + 2;
    if (at > last) /* it has no name */
        return;
    bool pragma = is(items[first + 1].word, "pragma") && !is(items[at].word, "once");
    for (size_t i = first; i <= last && pragma; i++)
        items[i].pragma = true;
    if (at >= last || !is(items[first + 1].word, "define"))
        return;
    struct word *macro = items[at++].word;
    macro->macro = true;
    if (is(items[at].word, "(") && items[at].start == items[at - 1].end)
        while (at < last && !is(items[at].word, ")"))
            at++;
    for (; at < last; at++)
        *ARRAY_APPEND(macro->body, macro->body_count) = items[at].word;
}

static void read_tokens(struct removal *removal, size_t file)
{
    struct file_tokens *tokens = &removal->files[file];
    struct source_lexer lexer;
    enum token_kind kind;
    size_t directive = SIZE_MAX; /* where it began */
    const char *text = removal->code->texts[file];
    source_lexer_init(&lexer, text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0));
    do {
        kind = source_lexer_next(&lexer);
        if (kind == TOKEN_DIRECTIVE)
            directive = tokens->count;
        *ARRAY_APPEND(tokens->items, tokens->count) =
            (struct token){.word = get_word(removal, lexer.token),
                           .start = lexer.start,
                           .end = lexer.at,
                           .line = lexer.line,
                           .kind = kind,
                           .in_directive = directive != SIZE_MAX};
        if (kind == TOKEN_DIRECTIVE_END && directive != SIZE_MAX) {
            note_directive(tokens, directive);
            directive = SIZE_MAX;
        }
    } while (kind != TOKEN_END);
    source_lexer_release(&lexer);
}

/* Whether the word, or what it stands for as a macro, is one of these. */
/* NOLINTNEXTLINE(misc-no-recursion): a macro is visited once at a time */
static bool means(struct word *word, const char *const *texts)
{
    bool found = is_one_of(word, texts);
    if (!word->macro || word->visited)
        return found;
    word->visited = true;
    for (size_t i = 0; i < word->body_count && !found; i++)
        found = means(word->body[i], texts);
    word->visited = false;
    return found;
}

static const char *const spaces[] = {"__device__", "__global__",  "__constant__",
                                     "__shared__", "__managed__", NULL};

/* A macro that is defined nowhere is one of a header that is not there: its name decides. */
static bool means_device(struct word *word)
{
    bool unknown =
        !word->macro && strstr(word->text, "DEVICE") != NULL && strchr(word->text, '"') == NULL;
    return unknown || means(word, spaces);
}

/* --- declarations --- */

/* What surrounds a declaration: a namespace, `extern "C"`, or a class. */
struct surrounding {
    struct surrounding *outer;
    struct surrounding *older; /* the list of all, to be freed */
    struct state *head;        /* of a class: what was read of it; otherwise NULL */
    struct word *name;
    bool device; /* something in it is annotated */
};

/* What has been read of a declaration, and where; copied at each #if. */
struct state {
    struct surrounding *scope;
    size_t first;    /* its first token; SIZE_MAX: it has none yet */
    size_t last;     /* the last token outside of its brackets, in front of the current one */
    size_t annotate; /* where an annotation would stand: behind `template <…>` and `extern "C"` */
    size_t depth;    /* of brackets */
    size_t template_depth; /* of `template <…>` */
    size_t body;           /* where the body or a constructor's initialisers begin; 0: nowhere */
    struct word *names[MOST_NAMES];
    size_t name_count;
    bool in_body, specialises, instantiates, whole_macro;
    bool class_key, based, enumeration, names_space, alias, typedef_, asserts, concept;
    bool device, device_inside, constant, constexpr_, automatic, friendly, special, virtual_,
        operator_;
    bool parameters;   /* has parentheses as a function has them */
    bool values;       /* around the value of a variable */
    bool initialisers; /* of a constructor */
    bool equals, defaulted, arrow, standard;
};

struct condition {
    struct state before;
    bool skips; /* #if 0 */
};

struct parsing {
    struct removal *removal;
    size_t file;
    struct token *tokens;
    struct state now;
    struct condition *conditions;
    size_t condition_count;
    struct surrounding *scopes;
    bool failed;
};

static void begin(struct parsing *parsing, struct surrounding *scope)
{
    parsing->now =
        (struct state){.scope = scope, .first = SIZE_MAX, .last = SIZE_MAX, .annotate = SIZE_MAX};
}

static void open_scope(struct parsing *parsing, bool is_class)
{
    struct state *now = &parsing->now;
    struct surrounding *scope = alloc_zeroed(1, sizeof *scope);
    *scope = (struct surrounding){.outer = now->scope, .older = parsing->scopes};
    parsing->scopes = scope;
    if (is_class) {
        scope->head = alloc_zeroed(1, sizeof *scope->head);
        *scope->head = *now;
        scope->name = now->name_count > 0 ? now->names[now->name_count - 1] : NULL;
    }
    begin(parsing, scope);
}

/* A class goes on behind it. */
static void close_scope(struct parsing *parsing, size_t at)
{
    struct surrounding *scope = parsing->now.scope;
    if (scope == NULL || parsing->now.first != SIZE_MAX) {
        parsing->failed = true;
        return;
    }
    begin(parsing, scope->outer);
    if (scope->outer != NULL)
        scope->outer->device = scope->outer->device || scope->device;
    if (scope->head == NULL)
        return;
    parsing->now = *scope->head;
    parsing->now.device_inside = scope->device;
    parsing->now.based = false;
    parsing->now.last = at;
}

static void discard(struct token *tokens, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (!tokens[i].in_directive || tokens[i].pragma)
            tokens[i].fate = TOKEN_GOES;
}

static bool is_function(const struct state *state)
{
    return state->parameters && !state->values && !state->alias && !state->typedef_ &&
           !state->asserts && !state->concept && !state->whole_macro;
}

static bool guides_deduction(const struct state *state)
{
    return state->arrow && !state->automatic && !state->constexpr_;
}

static enum keep decide(const struct state *state)
{
    bool function = is_function(state);
    bool device = state->device || (state->device_inside && !function);
    if (device || state->asserts || state->name_count == MOST_NAMES ||
        (state->enumeration && !function))
        return KEEP_ALWAYS;
    if (state->instantiates || state->whole_macro)
        return KEEP_NEVER;
    if (state->alias && state->names_space)
        return KEEP_NAMESPACE;
    if (function && state->constexpr_)
        return state->operator_ ? KEEP_ALWAYS : KEEP_NAMED;
    if (function)
        return guides_deduction(state) ? KEEP_NAMED : KEEP_UNEVALUATED;
    return state->alias || state->typedef_ || state->names_space || state->concept ||
                   state->class_key || state->constant || state->constexpr_
               ? KEEP_NAMED
               : KEEP_NEVER;
}

/* Branches of an #if may each end the same declaration. */
static void end_declaration(struct parsing *parsing, size_t end)
{
    const struct state *state = &parsing->now;
    struct removal *removal = parsing->removal;
    struct declaration *last = removal->declaration_count > 0
                                   ? &removal->declarations[removal->declaration_count - 1]
                                   : NULL;
    struct declaration new = {.file = parsing->file,
                              .first = state->first,
                              .end = end,
                              .name_count = state->name_count,
                              .keep = decide(state),
                              .annotate = SIZE_MAX};
    memcpy(new.names, state->names, sizeof new.names);
    if (is_function(state) && !state->device && !guides_deduction(state))
        new.annotate = state->annotate;
    if (last == NULL || last->file != new.file || last->first != new.first)
        last = ARRAY_APPEND(removal->declarations, removal->declaration_count);
    else if (last->keep < new.keep)
        new.keep = last->keep;
    *last = new;
}

/* Of a class's members, functions without an annotation do not stay as they are. */
static void end_member(struct parsing *parsing, size_t end)
{
    const struct state *state = &parsing->now;
    struct surrounding *scope = state->scope;
    bool constructs = state->name_count > 0 && state->names[state->name_count - 1] == scope->name;
    bool special =
        (state->special || state->virtual_ || (constructs && !state->standard)) && !state->friendly;
    scope->device = scope->device || state->device || state->device_inside;
    if (!is_function(state) || state->device || (state->defaulted && !state->virtual_))
        return;
    if (!state->constexpr_ && !special) {
        discard(parsing->tokens, state->first, end);
        return;
    }
    parsing->tokens[state->annotate].annotated = true;
    if (!state->constexpr_ && state->body > 0) {
        discard(parsing->tokens, state->body, end);
        parsing->tokens[state->body].fate = TOKEN_ENDS;
    }
}

static void end_at(struct parsing *parsing, size_t end)
{
    struct surrounding *scope = parsing->now.scope;
    if (scope != NULL && scope->head != NULL)
        end_member(parsing, end);
    else
        end_declaration(parsing, end);
    begin(parsing, scope);
}

/* --- parsing --- */

/* A macro at the start of a declaration that is one, or several, or opens or closes a namespace. */
static void read_macro(struct state *state, struct word *word)
{
    static const char *const ends[] = {"{", "}", ";", NULL};
    static const char *const types[] = {"struct",  "class",     "union",     "enum", "using",
                                        "typedef", "constexpr", "namespace", NULL};
    long open = 0;
    state->whole_macro = word->macro && means(word, ends);
    for (size_t i = 0; i < word->body_count; i++)
        open += is(word->body[i], "{") - is(word->body[i], "}");
    if (state->whole_macro && (open != 0 || means(word, types)))
        state->device = true;
}

static void read_name(struct parsing *parsing, size_t at)
{
    static const struct {
        const char *text;
        size_t flag;
    } flags[] = {{"const", offsetof(struct state, constant)},
                 {"namespace", offsetof(struct state, names_space)},
                 {"typedef", offsetof(struct state, typedef_)},
                 {"concept", offsetof(struct state, concept)},
                 {"auto", offsetof(struct state, automatic)},
                 {"friend", offsetof(struct state, friendly)},
                 {"operator", offsetof(struct state, operator_)},
                 {"virtual", offsetof(struct state, virtual_)},
                 {"std", offsetof(struct state, standard)}};
    static const char *const fixed[] = {"constexpr", "consteval", NULL};
    static const char *const classes[] = {"struct", "class", "union", NULL};
    static const char *const asserts[] = {"static_assert", "_Static_assert", "asm", NULL};
    static const char *const members[] = {"::", ".", "->", NULL};
    struct state *state = &parsing->now;
    struct word *word = parsing->tokens[at].word;
    struct word *previous = state->last != SIZE_MAX ? parsing->tokens[state->last].word : NULL;
    bool head = !state->parameters && !state->equals;
    bool first = state->first == at;
    if (first)
        read_macro(state, word);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (is(word, flags[i].text))
            *(bool *)((char *)state + flags[i].flag) = true;
    state->device |= state->body == 0 && !state->equals && means_device(word);
    state->device_inside |= means(word, spaces);
    state->constexpr_ |= means(word, fixed);
    state->class_key |= head && is_one_of(word, classes);
    state->enumeration |= head && is(word, "enum") && !is(previous, "extern");
    state->alias |= head && is(word, "using");
    state->asserts |= first && is_one_of(word, asserts);
    state->defaulted |= is(previous, "=") && (is(word, "default") || is(word, "delete"));
    state->instantiates |= is(previous, "template");
    if (is(word, "template") && !is_one_of(previous, members))
        state->annotate = SIZE_MAX;
    else if (state->annotate == SIZE_MAX && !is(word, "extern"))
        state->annotate = at;
}

/* Whether the parenthesis behind `last` may open a function's parameters. */
static bool opens_parameters(const struct parsing *parsing)
{
    static const char *const attributes[] = {
        "alignas",           "__align__",      "__attribute__", "__declspec",
        "__launch_bounds__", "noexcept",       "decltype",      "explicit",
        "requires",          "static_assert",  "asm",           "__cluster_dims__",
        "__maxnreg__",       "__block_size__", "operator",      NULL};
    static const char *const classes[] = {"struct", "class", "union", "enum", NULL};
    const struct state *state = &parsing->now;
    const struct token *last = state->last != SIZE_MAX ? &parsing->tokens[state->last] : NULL;
    if (last == NULL || state->equals || state->initialisers || is_one_of(last->word, attributes) ||
        (state->class_key && state->last > state->first && is_one_of(last[-1].word, classes)))
        return false;
    return last->kind == TOKEN_NAME || state->operator_ || is(last->word, ">") ||
           is(last->word, ")");
}

/* Declares the name in front of the punctuation at `at`, if it is one that is declared. */
static void declare(struct parsing *parsing, size_t at)
{
    static const char *const behind[] = {"=", "{", "[", "(", ";", ":", NULL};
    struct state *state = &parsing->now;
    struct word *word = parsing->tokens[at].word;
    size_t name = state->last;
    if (name != SIZE_MAX && name > state->first && is(parsing->tokens[name].word, "final"))
        name--;
    bool names = is_one_of(word, behind) && (!state->parameters || is(word, "("));
    names = names || (is(word, ",") && state->class_key); /* not in a template's arguments */
    bool specialises = is(word, "<") && (state->class_key || state->specialises);
    if (name == SIZE_MAX || parsing->tokens[name].kind != TOKEN_NAME || state->equals ||
        state->based || state->initialisers || state->name_count == MOST_NAMES ||
        !(names || specialises))
        return;
    if (is(parsing->tokens[name].word, "class") || is(parsing->tokens[name].word, "struct"))
        return;
    state->names[state->name_count++] = parsing->tokens[name].word;
}

static void open_parenthesis(struct parsing *parsing, size_t at)
{
    struct state *state = &parsing->now;
    size_t last = state->last;
    state->depth++;
    if (!opens_parameters(parsing))
        return;
    enum token_kind next = parsing->tokens[at + 1].kind;
    state->values = !state->parameters && (next == TOKEN_NUMBER || next == TOKEN_TEXT);
    state->parameters = true;
    if (last > state->first && (is(parsing->tokens[last - 1].word, "~") ||
                                (is(parsing->tokens[last].word, "=") && state->operator_)))
        state->special = true;
}

static void open_brace(struct parsing *parsing, size_t at)
{
    struct state *state = &parsing->now;
    const struct token *last = state->last != SIZE_MAX ? &parsing->tokens[state->last] : NULL;
    bool initialises =
        state->initialisers && last != NULL && (last->kind == TOKEN_NAME || is(last->word, ">"));
    bool linkage = last != NULL && last->kind == TOKEN_TEXT && !state->parameters &&
                   is(parsing->tokens[state->first].word, "extern");
    if (state->names_space && last != NULL)
        last->word->is_namespace = true;
    if ((state->names_space && !state->alias) || linkage) {
        open_scope(parsing, false);
    } else if (state->class_key && !state->enumeration && !state->parameters && !state->equals) {
        open_scope(parsing, true);
    } else {
        state->depth++;
        if (!is_function(state) || state->equals || initialises)
            return;
        state->in_body = true;
        if (state->body == 0)
            state->body = at;
    }
}

/* A token within brackets of a declaration. */
static void read_inside(struct parsing *parsing, size_t at)
{
    struct state *state = &parsing->now;
    const struct token *token = &parsing->tokens[at];
    struct word *word = token->word;
    if (is(word, "(") || is(word, "[") || is(word, "{")) {
        state->depth++;
    } else if (is(word, ")") || is(word, "]") || is(word, "}")) {
        state->depth--;
        if (state->typedef_ && is(word, ")") && is(token[-2].word, "*") &&
            state->name_count < MOST_NAMES)
            state->names[state->name_count++] = token[-1].word;
        if (state->depth > 0)
            return;
        state->last = at;
        if ((state->in_body && is(word, "}")) || (state->whole_macro && !is(token[1].word, "{")))
            end_at(parsing, at + 1);
        else
            state->whole_macro = false;
    } else if (token->kind == TOKEN_NAME) {
        state->device_inside = state->device_inside || means(word, spaces);
        state->standard = state->standard || (state->body == 0 && is(word, "std"));
    }
}

/* Within `template <…>`. */
static void read_template(struct state *state, const struct token *token, size_t at)
{
    const char *text = token->word->text;
    size_t closed = token->kind == TOKEN_PUNCTUATION ? strspn(text, ">") : 0;
    if (strchr("([{", text[0]) != NULL)
        state->depth++;
    else if (strchr(")]}", text[0]) != NULL && state->depth > 0)
        state->depth--;
    else if (state->depth == 0 && strcmp(text, "<") == 0)
        state->template_depth++;
    else if (state->depth == 0 && closed > 0 && closed == strlen(text))
        state->template_depth -= closed < state->template_depth ? closed : state->template_depth;
    state->specialises = state->template_depth == 0 && is(token[-1].word, "<");
    state->last = at;
}

/* A token that no bracket of the declaration is around. */
static void read_outside(struct parsing *parsing, size_t at)
{
    static const char *const labels[] = {"public", "private", "protected", NULL};
    struct state *state = &parsing->now;
    const struct token *token = &parsing->tokens[at];
    struct word *word = token->word;
    struct word *previous = state->last != SIZE_MAX ? parsing->tokens[state->last].word : NULL;
    bool is_label = is(word, ":") && state->last == state->first && is_one_of(previous, labels);
    if (token->kind == TOKEN_NAME)
        read_name(parsing, at);
    else if (token->kind == TOKEN_PUNCTUATION)
        declare(parsing, at);
    if (state->annotate == SIZE_MAX && (is(word, "~") || is(word, "::") || is(word, "[")))
        state->annotate = at;
    if (is(word, "}")) {
        close_scope(parsing, at);
        return;
    }
    if (is_label || (is(word, ";") && state->first == at)) {
        begin(parsing, state->scope);
        return;
    }
    if (is(word, ";")) {
        end_at(parsing, at + 1);
        return;
    }
    if (state->whole_macro && state->first == at && !is(token[1].word, "(")) {
        end_at(parsing, at + 1);
        return;
    }
    if (is(word, "(")) {
        open_parenthesis(parsing, at);
    } else if (is(word, "{")) {
        open_brace(parsing, at);
        if (parsing->now.first == SIZE_MAX)
            return;
    } else if (is(word, "[")) {
        state->depth++;
    } else if (is(word, "<") && is(previous, "template")) {
        state->template_depth = 1;
    } else if (is(word, "=") && !is(previous, "operator")) {
        state->equals = true;
    } else if (is(word, ",")) {
        state->equals = false;
    } else if (is(word, "->")) {
        state->arrow = true;
    } else if (is(word, ":") && state->class_key && !state->parameters) {
        state->based = true;
    } else if (is(word, ":") && state->parameters && !state->initialisers) {
        state->initialisers = true;
        state->body = at;
    }
    parsing->now.last = at;
}

static void read_token(struct parsing *parsing, size_t at)
{
    struct state *state = &parsing->now;
    if (state->first == SIZE_MAX && !is(parsing->tokens[at].word, "}"))
        state->first = at;
    if (state->template_depth > 0)
        read_template(state, &parsing->tokens[at], at);
    else if (state->depth > 0)
        read_inside(parsing, at);
    else
        read_outside(parsing, at);
}

/* Whether the innermost of so many conditions skips its branch. */
static bool is_skipped(const struct parsing *parsing, size_t condition_count)
{
    return condition_count > 0 && parsing->conditions[condition_count - 1].skips;
}

/* Another branch begins as the first did; a declaration that is open in the first goes on. */
static void next_branch(struct parsing *parsing)
{
    struct condition *condition = &parsing->conditions[parsing->condition_count - 1];
    size_t first = parsing->now.first;
    condition->skips = is_skipped(parsing, parsing->condition_count - 1);
    parsing->now = condition->before;
    if (parsing->now.first == SIZE_MAX)
        parsing->now.first = first;
}

static void read_directive(struct parsing *parsing, size_t at)
{
    const struct token *name = &parsing->tokens[at + 1];
    if (name->kind != TOKEN_NAME)
        return;
    if (is(name->word, "if") || is(name->word, "ifdef") || is(name->word, "ifndef")) {
        bool never =
            is(name->word, "if") && is(name[1].word, "0") && name[2].kind == TOKEN_DIRECTIVE_END;
        *ARRAY_APPEND(parsing->conditions, parsing->condition_count) = (struct condition){
            parsing->now, never || is_skipped(parsing, parsing->condition_count)};
    } else if (parsing->condition_count == 0) {
        parsing->failed = parsing->failed || is(name->word, "endif");
    } else if (strncmp(name->word->text, "el", 2) == 0) {
        next_branch(parsing);
    } else if (is(name->word, "endif")) {
        parsing->condition_count--;
    }
}

/* A file that cannot be parsed is one declaration, which stays. */
static void keep_file(struct parsing *parsing, size_t count, size_t declaration_count)
{
    struct removal *removal = parsing->removal;
    for (size_t i = 0; i < count; i++) {
        parsing->tokens[i].fate = TOKEN_STAYS;
        parsing->tokens[i].annotated = false;
    }
    removal->declaration_count = declaration_count;
    *ARRAY_APPEND(removal->declarations, removal->declaration_count) =
        (struct declaration){.file = parsing->file, .end = count, .annotate = SIZE_MAX};
}

static void parse_file(struct removal *removal, size_t file)
{
    const struct file_tokens *tokens = &removal->files[file];
    struct parsing parsing = {.removal = removal, .file = file, .tokens = tokens->items};
    size_t declaration_count = removal->declaration_count;
    begin(&parsing, NULL);
    for (size_t i = 0; i + 1 < tokens->count && !parsing.failed; i++) { /* the last is the end */
        if (tokens->items[i].kind == TOKEN_DIRECTIVE)
            read_directive(&parsing, i);
        else if (!tokens->items[i].in_directive && !is_skipped(&parsing, parsing.condition_count))
            read_token(&parsing, i);
    }
    if (parsing.failed || parsing.now.first != SIZE_MAX || parsing.now.scope != NULL)
        keep_file(&parsing, tokens->count, declaration_count);
    for (struct surrounding *scope; (scope = parsing.scopes) != NULL;) {
        parsing.scopes = scope->older;
        free(scope->head);
        free(scope);
    }
    free(parsing.conditions);
}

/* --- what stays --- */

/* A macro's name stands for all that it may become. */
/* NOLINTNEXTLINE(misc-no-recursion): each word is marked once */
static void mark(struct word *word, bool unevaluated)
{
    bool *flag = unevaluated ? &word->unevaluated : &word->live;
    if (*flag)
        return;
    *flag = true;
    for (size_t i = 0; i < word->body_count; i++)
        mark(word->body[i], unevaluated);
}

static void mark_text(struct removal *removal, const char *text)
{
    struct source_lexer lexer;
    enum token_kind kind;
    source_lexer_init(&lexer, text);
    while ((kind = source_lexer_next(&lexer)) != TOKEN_END)
        if (kind == TOKEN_NAME)
            mark(get_word(removal, lexer.token), false);
    source_lexer_release(&lexer);
}

/* Marks what a declaration that stays names. Behind a dot is a member's name. */
static void mark_used(const struct removal *removal, const struct declaration *declaration)
{
    static const char *const operators[] = {"decltype", "sizeof",   "noexcept",
                                            "alignof",  "requires", NULL};
    static const char *const members[] = {".", "->", NULL};
    const struct token *tokens = removal->files[declaration->file].items;
    const struct token *last = NULL;
    size_t unevaluated = 0; /* brackets that are open behind one of these */
    for (size_t i = declaration->first; i < declaration->end; i++) {
        const struct token *token = &tokens[i];
        if (token->in_directive || token->fate != TOKEN_STAYS)
            continue;
        bool opens = is(token->word, "(") || (unevaluated > 0 && is(token->word, "{"));
        bool closes = is(token->word, ")") || is(token->word, "}");
        if (opens && (unevaluated > 0 || (last != NULL && is_one_of(last->word, operators))))
            unevaluated++;
        else if (closes && unevaluated > 0)
            unevaluated--;
        if (token->kind == TOKEN_NAME && (last == NULL || !is_one_of(last->word, members))) {
            mark(token->word, false);
            if (unevaluated > 0)
                mark(token->word, true);
        }
        last = token;
    }
}

static bool stays(const struct declaration *declaration)
{
    static const char *const namespaces[] = {"std", "cuda", "cooperative_groups", "nvcuda", NULL};
    for (size_t i = 0; i < declaration->name_count; i++) {
        const struct word *name = declaration->names[i];
        if ((declaration->keep == KEEP_NAMED && name->live) ||
            (declaration->keep == KEEP_UNEVALUATED && name->unevaluated) ||
            (declaration->keep == KEEP_NAMESPACE &&
             (name->is_namespace || is_one_of(name, namespaces))))
            return true;
    }
    return declaration->keep == KEEP_ALWAYS;
}

static void find_live(struct removal *removal)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < removal->declaration_count; i++) {
            struct declaration *declaration = &removal->declarations[i];
            if (declaration->live || !stays(declaration))
                continue;
            declaration->live = changed = true;
            if (declaration->keep != KEEP_NAMESPACE)
                mark_used(removal, declaration);
        }
    }
}

/* --- headers --- */

/* Whether nothing that stays can need the header, which was not found in the user's folders: it is not there, it is of
 * an interface for the host, or what it declares is not named. */
static bool is_unneeded(struct removal *removal, const char *name)
{
    static const struct {
        const char *pattern, *needed_by;
    } known[] = {{"cuda.h", "CUtensorMap"}, {"thrust/*", "thrust"}, {"cub/*", "cub"},
                 {"nvtx3/*", NULL},         {"nvToolsExt*", NULL},  {"cublas*", NULL},
                 {"cusparse*", NULL},       {"cusolver*", NULL},    {"cufft*", NULL},
                 {"cudnn*", NULL},          {"curand.h", NULL},     {"cuda_profiler_api.h", NULL},
                 {"nvml.h", NULL},          {"nvrtc.h", NULL},      {"cuda_gl_interop.h", NULL}};
    const struct standard_header *standard = standard_header_find(name, strlen(name));
    const char *needed_by = ""; /* something */
    if (!toolkit_header_is(name))
        return true;
    if (standard != NULL && strstr(standard->text, "<cuda/std/") != NULL)
        needed_by = "std";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fnmatch(known[i].pattern, name, 0) == 0)
            needed_by = known[i].needed_by;
    return needed_by == NULL || (needed_by[0] != '\0' && !get_word(removal, needed_by)->live);
}

static void leave_out(struct host_code *code, const char *name, size_t file, int line)
{
    *ARRAY_APPEND(code->left_out, code->left_out_count) =
        (struct host_code_left_out){alloc_string(name), file, line};
}

static void remove_headers(struct removal *removal, size_t file)
{
    const struct host_code *code = removal->code;
    const struct file_tokens *tokens = &removal->files[file];
    for (size_t i = 2; i < tokens->count; i++) {
        struct token *header = &tokens->items[i];
        const char *text = header->word->text;
        if (header->kind != TOKEN_HEADER || header[-2].kind != TOKEN_DIRECTIVE || strlen(text) < 3)
            continue;
        char *name = alloc_string_n(text + 1, strlen(text) - 2);
        bool found = true; /* in the user's folders */
        for (size_t j = 0; j < code->header_count && found; j++)
            found = strcmp(code->headers[j], name) != 0;
        if (!found && is_unneeded(removal, name)) {
            leave_out(removal->code, text, file, header->line);
            for (size_t j = i - 2; j <= i; j++)
                tokens->items[j].fate = TOKEN_GOES;
        }
        free(name);
    }
}

/* --- the texts --- */

/* Appends the line feeds of a part. */
static void keep_lines(FILE *stream, const char *from, const char *to)
{
    for (; from < to; from++)
        if (*from == '\n')
            (void)fputc('\n', stream);
}

/* What nvcc includes in front of any source. */
static const char prelude[] = "#include <stdint.h>\n#include <stdlib.h>\n#include <limits.h>\n"
                              "#include <float.h>\n#include <math.h>\n#include <assert.h>\n"
                              "typedef unsigned int uint;\n";
static const char standard_prelude[] =
    "#include <type_traits>\n#include <utility>\n#include <limits>\n";

static char *remaining_text(const struct removal *removal, size_t file, bool uses_std)
{
    const struct file_tokens *tokens = &removal->files[file];
    const char *from = removal->code->texts[file];
    enum fate before = TOKEN_STAYS;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = alloc_stream(&text, &length);
    from += strncmp(from, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    if (file < removal->code->unit_count)
        fprintf(stream, "%s%s#line 1\n", prelude, uses_std ? standard_prelude : "");
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->items[i];
        bool goes = token->fate != TOKEN_STAYS;
        if (goes && before != TOKEN_STAYS)
            keep_lines(stream, from, token->start);
        else
            (void)fwrite(from, 1, (size_t)(token->start - from), stream);
        if (token->annotated && !goes)
            fputs("__host__ __device__ ", stream);
        if (token->fate == TOKEN_ENDS)
            (void)fputc(';', stream);
        if (goes && before == TOKEN_STAYS)
            (void)fputc(' ', stream);
        if (goes)
            keep_lines(stream, token->start, token->end);
        else
            (void)fwrite(token->start, 1, (size_t)(token->end - token->start), stream);
        from = token->end;
        before = token->fate;
    }
    (void)fclose(stream);
    return text;
}

/* Leaves out the declarations that do not stay. */
static void remove_declarations(struct removal *removal)
{
    for (size_t i = 0; i < removal->declaration_count; i++) {
        const struct declaration *declaration = &removal->declarations[i];
        struct token *tokens = removal->files[declaration->file].items;
        if (declaration->live && declaration->annotate != SIZE_MAX)
            tokens[declaration->annotate].annotated = true;
        if (declaration->live)
            continue;
        discard(tokens, declaration->first, declaration->end);
        for (size_t j = 0; j < declaration->name_count; j++)
            leave_out(removal->code, declaration->names[j]->text, declaration->file,
                      tokens[declaration->first].line);
    }
}

void host_code_remove(struct host_code *code)
{
    struct removal removal = {.code = code};
    removal.files = alloc_zeroed(code->text_count, sizeof *removal.files);
    for (size_t i = 0; i < code->text_count; i++)
        read_tokens(&removal, i);
    for (size_t i = 0; i < code->root_count; i++)
        mark_text(&removal, code->roots[i]);
    for (size_t i = 0; i < code->text_count; i++)
        parse_file(&removal, i);
    find_live(&removal);
    remove_declarations(&removal);
    for (size_t i = 0; i < code->text_count; i++)
        remove_headers(&removal, i);
    bool uses_std = get_word(&removal, "std")->live;
    for (size_t i = 0; i < code->text_count; i++) {
        char *text = remaining_text(&removal, i, uses_std);
        free(code->texts[i]);
        free(removal.files[i].items);
        code->texts[i] = text;
    }
    tdestroy(removal.words, free_word);
    free(removal.declarations);
    free(removal.files);
}
