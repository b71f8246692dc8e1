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

/* What words mean in a declaration; a macro means what its tokens do. */
enum meaning {
    MEANS_DEVICE = 1 << 0,
    MEANS_UNKNOWN_DEVICE =
        1 << 1, /* by its name; if no macro, it is one of a header that is not there */
    MEANS_CONSTEXPR = 1 << 2,
    MEANS_CONST = 1 << 3,
    MEANS_CLASS = 1 << 4,
    MEANS_ENUM = 1 << 5,
    MEANS_ALIAS = 1 << 6,
    MEANS_NAMESPACE = 1 << 7,
    MEANS_ASSERTION = 1 << 8,
    MEANS_FRIEND = 1 << 9,
    MEANS_VIRTUAL = 1 << 10,
    MEANS_UNEVALUATED = 1 << 11, /* what the parentheses behind it hold */
    MEANS_QUALIFIER = 1 << 12,   /* behind a function's parameters */
    MEANS_END = 1 << 13,         /* of a declaration */
};

static const struct {
    unsigned meaning;
    const char *words[6];
} meanings[] = {
    {MEANS_DEVICE, {"__device__", "__global__", "__constant__", "__shared__", "__managed__"}},
    {MEANS_CONSTEXPR, {"constexpr", "consteval"}},
    {MEANS_CONST, {"const"}},
    {MEANS_CLASS, {"struct", "class", "union"}},
    {MEANS_ENUM, {"enum"}},
    {MEANS_ALIAS, {"using", "typedef", "concept"}},
    {MEANS_NAMESPACE, {"namespace"}},
    {MEANS_ASSERTION, {"static_assert", "_Static_assert", "asm"}},
    {MEANS_FRIEND, {"friend"}},
    {MEANS_VIRTUAL, {"virtual"}},
    {MEANS_UNEVALUATED, {"decltype", "noexcept", "requires", "sizeof", "alignof"}},
    {MEANS_QUALIFIER, {"const", "volatile", "noexcept", "override", "final"}},
    {MEANS_QUALIFIER, {"requires", "try", "throw", "__attribute__"}},
    {MEANS_END, {"{", "}", ";"}},
};

struct word {
    char *text;
    unsigned meaning;
    bool live;        /* code that stays names it; */
    bool unevaluated; /* within decltype and the like */
    bool is_namespace;
    bool macro;
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
    size_t depth; /* how many brackets are around it; SIZE_MAX: in a directive or after #if 0 */
    bool in_directive; /* other than a pragma, which goes with the code around it */
    bool declared;     /* the name of a declaration */
    bool annotated;    /* gets `__host__ __device__` in front */
};

/* When a declaration stays. */
enum keep { KEEP_ALWAYS, KEEP_NAMESPACE, KEEP_NAMED, KEEP_UNEVALUATED, KEEP_NEVER };

struct declaration {
    size_t file, first, end; /* its tokens */
    size_t depth;            /* of those that no bracket of it is around */
    enum keep keep;
    bool live;
};

struct file_tokens {
    struct token *items;
    size_t count;
};

struct removal {
    struct host_code *code;
    void *tree; /* of tsearch(), by text */
    struct word **words;
    size_t word_count;
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
    struct word **found = tfind(&key, &removal->tree, compare_words);
    if (found != NULL)
        return *found;
    struct word *word = alloc_zeroed(1, sizeof *word);
    word->text = alloc_string(text);
    if (strstr(text, "DEVICE") != NULL && strchr(text, '"') == NULL)
        word->meaning = MEANS_UNKNOWN_DEVICE;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        for (size_t j = 0; meanings[i].words[j] != NULL; j++)
            if (strcmp(meanings[i].words[j], text) == 0)
                word->meaning |= meanings[i].meaning;
    (void)tsearch(word, &removal->tree, compare_words);
    *ARRAY_APPEND(removal->words, removal->word_count) = word;
    return word;
}

static bool is(const struct word *word, const char *text)
{
    return strcmp(word->text, text) == 0;
}

/* A macro or pragma of the latest directive, which begins at `first`. */
static void note_directive(const struct file_tokens *tokens, size_t first)
{
    struct token *items = tokens->items;
    size_t last = tokens->count - 1; /* the end of its line */
    size_t at = first + 2;
    if (at >= last) /* it has no name */
        return;
    if (is(items[first + 1].word, "pragma") && !is(items[at].word, "once"))
        for (size_t i = first; i <= last; i++)
            items[i].in_directive = false;
    if (!is(items[first + 1].word, "define"))
        return;
    struct word *macro = items[at++].word;
    macro->macro = true;
    macro->meaning &= ~(unsigned)MEANS_UNKNOWN_DEVICE;
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
    char *text = removal->code->texts[file];
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark, which would not be the first */
        memset(text, ' ', 3);
    source_lexer_init(&lexer, text);
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
                           .depth = SIZE_MAX,
                           .in_directive = directive != SIZE_MAX};
        if (kind == TOKEN_DIRECTIVE_END && directive != SIZE_MAX) {
            note_directive(tokens, directive);
            directive = SIZE_MAX;
        }
    } while (kind != TOKEN_END);
    source_lexer_release(&lexer);
}

/* Macros may name each other. */
static void find_meanings(struct removal *removal)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < removal->word_count; i++) {
            struct word *word = removal->words[i];
            unsigned before = word->meaning;
            for (size_t j = 0; j < word->body_count; j++)
                word->meaning |= word->body[j]->meaning;
            changed = changed || word->meaning != before;
        }
    }
}

/* --- declarations --- */

/* What surrounds a declaration: a file, a namespace, `extern "C"`, or a class. */
struct surrounding {
    size_t outer, depth;
    size_t first; /* of a class: where its declaration begins; otherwise SIZE_MAX */
    struct word *name;
    bool device; /* a member is annotated */
};

/* What is being read. */
struct place {
    size_t scope;
    size_t first;  /* of the declaration; SIZE_MAX: it has no token yet */
    size_t depth;  /* of brackets */
    size_t angles; /* those of `template <…>` that are open */
    bool in_body;
    bool device; /* it has a class with an annotated member */
    bool skips;  /* after #if 0 */
    bool macro;  /* so far it is a macro that stands for whole declarations, or an end of one */
};

struct parsing {
    struct removal *removal;
    size_t file;
    struct token *tokens;
    struct place now;
    struct place *conditions; /* what was being read at each #if */
    size_t condition_count;
    struct surrounding *scopes;
    size_t scope_count;
    bool failed;
};

/* A declaration without what is in brackets. */
struct head {
    unsigned meaning;
    bool device;
    bool function;     /* has parameters */
    bool initialisers; /* of a constructor */
    bool based, defaulted;
    bool equals, valued;       /* in a value; behind one */
    bool pointer;              /* its name is in brackets, as in `float (*op)(float)` */
    bool special;              /* a destructor or an assignment */
    bool instantiates;         /* template f<int>() */
    bool specialises;          /* template <> */
    struct word *name;         /* a class's first, otherwise the last */
    const struct word *called; /* the macro whose arguments look like parameters, or NULL */
    size_t annotate; /* where an annotation would stand: behind `template <…>` and `extern "C"` */
    size_t body;     /* where the body or a constructor's initialisers begin; 0: nowhere */
    const struct token *last, *before; /* the last two tokens */
};

static void read_name(struct head *head, const struct token *token)
{
    unsigned meaning = token->word->meaning;
    if (is(token->word, "template") && (head->last == NULL || is(head->last->word, "extern"))) {
        head->instantiates = !is(token[1].word, "<");
        head->specialises = is(token[1].word, "<") && is(token[2].word, ">");
    }
    if (head->equals) {
        head->defaulted |=
            is(head->last->word, "=") && (is(token->word, "default") || is(token->word, "delete"));
        return;
    }
    if (head->last != NULL && is(head->last->word, ")") && !head->initialisers &&
        !token->word->macro && (meaning & MEANS_QUALIFIER) == 0)
        head->function = false; /* they were of an attribute, as in `alignas(16) float x` */
    if (head->function)
        meaning &= ~(unsigned)(MEANS_CLASS | MEANS_ENUM | MEANS_ALIAS);
    if (head->last != NULL)
        meaning &= ~(unsigned)MEANS_ASSERTION;
    head->meaning |= meaning;
    head->device |= (meaning & (MEANS_DEVICE | MEANS_UNKNOWN_DEVICE)) != 0;
}

/* Whether the bracket is that of a pointer or reference to a function or array: no parameters. */
static bool opens_pointer(const struct token *token)
{
    const struct token *end = token + 1;
    if (!is(token->word, "(") || (!is(end->word, "*") && !is(end->word, "&")) ||
        is(token[3].word, "(")) /* the function in `float (*f(int))[4]` */
        return false;
    while (end->kind != TOKEN_END && (end->depth != token->depth || !is(end->word, ")")))
        end++;
    return end->kind != TOKEN_END && (is(end[1].word, "(") || is(end[1].word, "["));
}

/* The name in front of the arguments of a template, of which `last` is the end. */
static const struct token *find_template_name(const struct parsing *parsing,
                                              const struct token *last)
{
    const struct token *first = &parsing->tokens[parsing->now.first];
    size_t depth = last->depth;
    long open = 0;
    for (; last > first; last--) {
        const char *text = last->word->text;
        if (last->depth != depth || last->kind != TOKEN_PUNCTUATION)
            continue;
        open += strspn(text, ">") == strlen(text) ? (long)strlen(text) : 0;
        open -= is(last->word, "<");
        if (open <= 0)
            return last - 1;
    }
    return NULL;
}

/* Finds the name in front of the punctuation, if it is one that is declared. */
static void read_declared(struct parsing *parsing, struct head *head, const struct token *token)
{
    const struct token *name = head->last;
    bool is_class = (head->meaning & MEANS_CLASS) != 0;
    bool open = is(token->word, "(");
    if (name != NULL && is(name->word, "final"))
        name = head->before;
    if (name != NULL && name->word->text[0] == '>' && !is_class && !head->equals && !open) {
        name = find_template_name(parsing, name); /* a specialisation of a variable */
        for (const struct token *i = name; i != NULL && i < token; i++)
            if (i->depth == token->depth && is(i->word, "("))
                head->function = false; /* it was of an argument, as in `width<T(int)> = 2` */
    }
    if (opens_pointer(token))
        name = token + ((token[2].word->meaning & MEANS_CONST) != 0 ? 3 : 2);
    if (name == NULL || name->kind != TOKEN_NAME || head->equals || head->based ||
        head->initialisers || (name->word->meaning & MEANS_CLASS) != 0)
        return;
    bool names = strchr("={[;:", token->word->text[0]) != NULL && token->word->text[1] == '\0';
    if (!(open || (names && !head->function) || (is(token->word, ",") && is_class) ||
          (is(token->word, "<") && (is_class || head->specialises))))
        return;
    size_t at = (size_t)(name - parsing->tokens);
    parsing->tokens[at].depth = token->depth;
    parsing->tokens[at].declared = true;
    if (head->name == NULL || !is_class)
        head->name = name->word;
}

static void read_punctuation(struct parsing *parsing, struct head *head, size_t at)
{
    const struct token *token = &parsing->tokens[at];
    const struct token *last = head->last;
    const struct word *word = token->word;
    const struct word *before = head->before != NULL ? head->before->word : NULL;
    if (is(word, "(") && before != NULL && (before->meaning & MEANS_CLASS) != 0)
        return; /* of an attribute */
    read_declared(parsing, head, token);
    if (is(word, "(") && last != NULL && !head->valued && !head->initialisers && !head->based &&
        !is(last->word, "<") && !is(last->word, ",")) {
        head->pointer |= opens_pointer(token);
        head->function =
            !head->pointer && token[1].kind != TOKEN_NUMBER; /* as in `const int x(3)` */
        head->called = last->word->macro ? last->word : NULL;
        head->special |=
            before != NULL && (is(before, "~") || (is(before, "operator") && is(last->word, "=")));
    } else if (is(word, "=") && (last == NULL || !is(last->word, "operator"))) {
        head->equals = head->valued = true;
    } else if (is(word, ",")) {
        head->equals = false;
    } else if (is(word, "}")) {
        head->based = false;
    } else if (is(word, ";")) { /* of another branch of an #if */
        head->equals = head->valued = false;
    } else if (is(word, "->") && head->annotate < at &&
               parsing->tokens[head->annotate].declared) { /* a deduction guide is as an alias */
        head->meaning |= MEANS_ALIAS;
    } else if (is(word, ":") && !head->function) {
        head->based |= (head->meaning & MEANS_CLASS) != 0;
    } else if (is(word, ":") || is(word, "{")) {
        head->initialisers |= is(word, ":");
        if (head->function && head->body == 0)
            head->body = at;
    }
}

/* Reads what is open, up to `end`. */
static struct head read_head(struct parsing *parsing, size_t end)
{
    struct head head = {.device = parsing->now.device, .annotate = SIZE_MAX};
    for (size_t i = parsing->now.first; i < end; i++) {
        const struct token *token = &parsing->tokens[i];
        if (token->depth != parsing->scopes[parsing->now.scope].depth)
            continue;
        if (token->kind == TOKEN_NAME)
            read_name(&head, token);
        else if (token->kind == TOKEN_PUNCTUATION)
            read_punctuation(parsing, &head, i);
        if (head.annotate == SIZE_MAX && token->kind != TOKEN_TEXT &&
            !is(token->word, "template") && !is(token->word, "extern"))
            head.annotate = i;
        head.before = head.last;
        head.last = token;
    }
    if ((head.meaning & (MEANS_ALIAS | MEANS_ASSERTION)) != 0)
        head.function = false;
    return head;
}

static void begin(struct parsing *parsing, size_t scope)
{
    parsing->now =
        (struct place){.scope = scope, .first = SIZE_MAX, .depth = parsing->scopes[scope].depth};
}

static void open_scope(struct parsing *parsing, size_t first, struct word *name)
{
    *ARRAY_APPEND(parsing->scopes, parsing->scope_count) =
        (struct surrounding){parsing->now.scope, parsing->now.depth + 1, first, name, false};
    begin(parsing, parsing->scope_count - 1);
}

/* A class goes on behind it. */
static void close_scope(struct parsing *parsing, size_t at)
{
    struct surrounding scope = parsing->scopes[parsing->now.scope];
    parsing->failed = parsing->now.scope == 0 || parsing->now.first != SIZE_MAX ||
                      !is(parsing->tokens[at].word, "}");
    begin(parsing, scope.outer);
    parsing->now.first = scope.first;
    parsing->now.device = scope.device;
    parsing->tokens[at].depth = parsing->now.depth;
}

static void discard(struct token *tokens, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (!tokens[i].in_directive)
            tokens[i].fate = TOKEN_GOES;
}

/* A macro that opens or closes a scope stays, and so does one that declares more than functions. */
static bool macro_stays(const struct word *macro)
{
    const unsigned stays =
        MEANS_DEVICE | MEANS_CLASS | MEANS_ENUM | MEANS_ALIAS | MEANS_CONSTEXPR | MEANS_NAMESPACE;
    long open = 0;
    for (size_t i = 0; i < macro->body_count; i++)
        open += is(macro->body[i], "{") - is(macro->body[i], "}");
    return open != 0 || (macro->meaning & stays) != 0;
}

static enum keep decide(const struct parsing *parsing, const struct head *head)
{
    const unsigned named =
        MEANS_ALIAS | MEANS_NAMESPACE | MEANS_CLASS | MEANS_CONST | MEANS_CONSTEXPR;
    const unsigned using_namespace = MEANS_ALIAS | MEANS_NAMESPACE;
    bool is_constexpr = (head->meaning & MEANS_CONSTEXPR) != 0;
    if (parsing->now.macro)
        return macro_stays(parsing->tokens[parsing->now.first].word) ? KEEP_ALWAYS : KEEP_NEVER;
    if (head->device || (head->meaning & MEANS_ASSERTION) != 0)
        return KEEP_ALWAYS;
    if (head->instantiates)
        return KEEP_NEVER;
    if (head->function && is_constexpr) /* an operator has no name */
        return head->name == NULL ? KEEP_ALWAYS : KEEP_NAMED;
    if (head->function)
        return KEEP_UNEVALUATED;
    if ((head->meaning & MEANS_ENUM) != 0)
        return KEEP_ALWAYS;
    if ((head->meaning & using_namespace) == using_namespace)
        return KEEP_NAMESPACE;
    if ((head->meaning & named) == 0)
        return KEEP_NEVER;
    return head->name == NULL ? KEEP_ALWAYS : KEEP_NAMED;
}

/* Branches of an #if may each end the same declaration. */
static void end_declaration(struct parsing *parsing, const struct head *head, size_t end)
{
    struct removal *removal = parsing->removal;
    size_t count = removal->declaration_count;
    struct declaration *last = count > 0 ? &removal->declarations[count - 1] : NULL;
    if (last == NULL || last->file != parsing->file || last->first != parsing->now.first)
        last = ARRAY_APPEND(removal->declarations, removal->declaration_count);
    *last = (struct declaration){.file = parsing->file,
                                 .first = parsing->now.first,
                                 .end = end,
                                 .depth = parsing->scopes[parsing->now.scope].depth,
                                 .keep = decide(parsing, head)};
    if (head->function && !head->device && !parsing->now.macro)
        parsing->tokens[head->annotate].annotated = true;
}

/* Whether a macro declares a function: a name in it that is no macro has parameters. */
static bool has_parameters(const struct word *macro)
{
    static const char *const attributes[] = {"alignas", "__align__", "__attribute__", NULL};
    for (size_t i = 1; i + 1 < macro->body_count; i++) {
        const struct word *name = macro->body[i - 1];
        bool is_name = strpbrk(name->text, "()<>,*&") == NULL && !name->macro &&
                       (name->meaning & MEANS_UNEVALUATED) == 0;
        if (is(macro->body[i], "(") && is_name && !names_have(attributes, name->text) &&
            strchr("*&", macro->body[i + 1]->text[0]) == NULL)
            return true;
    }
    return false;
}

/* Of a class's members, functions without an annotation do not stay as they are. */
static void end_member(struct parsing *parsing, const struct head *head, size_t end)
{
    struct token *tokens = parsing->tokens;
    bool is_constexpr = (head->meaning & MEANS_CONSTEXPR) != 0;
    bool is_virtual = (head->meaning & MEANS_VIRTUAL) != 0;
    bool constructs = head->name == parsing->scopes[parsing->now.scope].name && head->name != NULL;
    parsing->scopes[parsing->now.scope].device |= head->device;
    if (!head->function || head->device || (head->defaulted && !is_virtual))
        return;
    if (head->called != NULL && head->body == 0 && !has_parameters(head->called))
        return; /* a variable */
    for (size_t i = parsing->now.first; i < (head->body > 0 ? head->body : end); i++)
        constructs = constructs && !is(tokens[i].word, "std"); /* it takes what is not there */
    bool special =
        (head->special || is_virtual || constructs) && (head->meaning & MEANS_FRIEND) == 0;
    if (!is_constexpr && !special) {
        discard(tokens, parsing->now.first, end);
        return;
    }
    tokens[head->annotate].annotated = true;
    if (!is_constexpr && head->body > 0) {
        discard(tokens, head->body, end);
        tokens[head->body].fate = TOKEN_ENDS;
    }
}

static void end_at(struct parsing *parsing, size_t end)
{
    size_t scope = parsing->now.scope;
    struct head head = read_head(parsing, end);
    if (parsing->scopes[scope].first != SIZE_MAX)
        end_member(parsing, &head, end);
    else
        end_declaration(parsing, &head, end);
    begin(parsing, scope);
}

/* --- parsing --- */

static void open_brace(struct parsing *parsing, size_t at)
{
    struct place *now = &parsing->now;
    const struct head head = read_head(parsing, at + 1);
    const struct token *last = head.before;
    bool declares = !head.function && !head.equals;
    bool space = (head.meaning & MEANS_NAMESPACE) != 0;
    if (declares && last != NULL &&
        (space || (last->kind == TOKEN_TEXT && is(parsing->tokens[now->first].word, "extern")))) {
        last->word->is_namespace = space;
        open_scope(parsing, SIZE_MAX, NULL);
    } else if (declares && (head.meaning & MEANS_CLASS) != 0 && (head.meaning & MEANS_ENUM) == 0) {
        open_scope(parsing, now->first, head.name);
    } else {
        now->depth++;
        now->in_body = head.function && !head.equals &&
                       !(head.initialisers && (last->kind == TOKEN_NAME || is(last->word, ">")));
    }
}

/* Within `template <…>`. */
static void read_template(struct place *now, const struct word *word)
{
    size_t closed = strspn(word->text, ">");
    if (is(word, "<"))
        now->angles++;
    else if (closed > 0 && word->text[closed] == '\0')
        now->angles -= closed < now->angles ? closed : now->angles;
}

/* A token that no bracket of the declaration is around. */
static void read_outside(struct parsing *parsing, size_t at)
{
    static const char *const labels[] = {"public", "private", "protected", NULL};
    struct place *now = &parsing->now;
    const struct token *token = &parsing->tokens[at];
    const struct word *word = token->word;
    bool first = now->first == at;
    if (first)
        now->macro = word->macro && (word->meaning & MEANS_END) != 0;
    if ((is(word, ":") && at == now->first + 1 && names_have(labels, token[-1].word->text)) ||
        (is(word, ";") && first))
        begin(parsing, now->scope);
    else if (is(word, ";") || (is(word, "}") && now->in_body) ||
             (now->macro && (first ? !is(token[1].word, "(") : !is(token[1].word, "{")) &&
              (first || is(word, ")"))))
        end_at(parsing, at + 1);
    else if (is(word, "{"))
        open_brace(parsing, at);
    else if (is(word, "(") || is(word, "["))
        now->depth++;
    else if (is(word, ")"))
        now->macro = false;
}

static void read_token(struct parsing *parsing, size_t at)
{
    struct place *now = &parsing->now;
    struct token *token = &parsing->tokens[at];
    size_t base = parsing->scopes[now->scope].depth;
    bool closes = is(token->word, ")") || is(token->word, "]") || is(token->word, "}");
    if (closes && now->depth == base) {
        close_scope(parsing, at);
        return;
    }
    if (now->first == SIZE_MAX)
        now->first = at;
    now->depth -= closes;
    bool in_template = now->angles > 0 ||
                       (is(token->word, "<") && at > now->first && is(token[-1].word, "template"));
    token->depth = now->depth + in_template;
    if (token->depth == base)
        read_outside(parsing, at);
    else if (is(token->word, "(") || is(token->word, "[") || is(token->word, "{"))
        now->depth++;
    else if (in_template && now->depth == base)
        read_template(now, token->word);
}

/* Another branch begins as the first did; a declaration that is open in the first goes on. */
static void read_directive(struct parsing *parsing, size_t at)
{
    const struct token *name = &parsing->tokens[at + 1];
    struct place *now = &parsing->now;
    size_t count = parsing->condition_count;
    size_t first = now->first;
    if (strncmp(name->word->text, "if", 2) == 0) {
        *ARRAY_APPEND(parsing->conditions, parsing->condition_count) = *now;
        now->skips |=
            is(name->word, "if") && is(name[1].word, "0") && name[2].kind == TOKEN_DIRECTIVE_END;
    } else if (count > 0 && strncmp(name->word->text, "el", 2) == 0) {
        *now = parsing->conditions[count - 1];
        now->first = now->first == SIZE_MAX ? first : now->first;
    } else if (is(name->word, "endif")) {
        parsing->failed |= count == 0;
        now->skips = count > 0 && parsing->conditions[count - 1].skips;
        parsing->condition_count -= count > 0;
    }
}

static void parse_file(struct removal *removal, size_t file)
{
    const struct file_tokens *tokens = &removal->files[file];
    struct parsing parsing = {.removal = removal, .file = file, .tokens = tokens->items};
    size_t declaration_count = removal->declaration_count;
    *ARRAY_APPEND(parsing.scopes, parsing.scope_count) = (struct surrounding){.first = SIZE_MAX};
    begin(&parsing, 0);
    for (size_t i = 0; i + 1 < tokens->count && !parsing.failed; i++) { /* the last is the end */
        if (tokens->items[i].kind == TOKEN_DIRECTIVE) {
            read_directive(&parsing, i);
            while (tokens->items[i].kind != TOKEN_DIRECTIVE_END)
                i++;
        } else if (!parsing.now.skips) {
            read_token(&parsing, i);
        }
    }
    if (parsing.failed || parsing.now.first != SIZE_MAX || parsing.now.scope != 0) {
        /* what cannot be parsed is one declaration, which stays */
        removal->declaration_count = declaration_count;
        for (size_t i = 0; i < tokens->count; i++) {
            tokens->items[i].fate = TOKEN_STAYS;
            tokens->items[i].annotated = false;
        }
        *ARRAY_APPEND(removal->declarations, removal->declaration_count) =
            (struct declaration){.file = file, .end = tokens->count};
    }
    free(parsing.scopes);
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
    const struct token *tokens = removal->files[declaration->file].items;
    size_t unevaluated = 0; /* brackets that are open behind decltype and the like */
    const char *last = "";
    bool before = false;
    for (size_t i = declaration->first; i < declaration->end; i++) {
        struct word *word = tokens[i].word;
        if (tokens[i].in_directive || tokens[i].fate != TOKEN_STAYS)
            continue;
        bool opens = is(word, "(") || is(word, "{");
        bool closes = is(word, ")") || is(word, "}");
        if (opens && (unevaluated > 0 || before))
            unevaluated++;
        else if (closes && unevaluated > 0)
            unevaluated--;
        before = (word->meaning & MEANS_UNEVALUATED) != 0 && !word->macro;
        if (tokens[i].kind == TOKEN_NAME && strcmp(last, ".") != 0 && strcmp(last, "->") != 0) {
            mark(word, false);
            if (unevaluated > 0)
                mark(word, true);
        }
        last = word->text;
    }
}

static bool stays(const struct removal *removal, const struct declaration *declaration)
{
    static const char *const spaces[] = {"std",    "cuda", "cooperative_groups",
                                         "nvcuda", "wmma", NULL};
    const struct token *tokens = removal->files[declaration->file].items;
    for (size_t i = declaration->first; i < declaration->end; i++) {
        const struct word *name = tokens[i].word;
        if (tokens[i].declared && tokens[i].depth == declaration->depth &&
            ((declaration->keep == KEEP_NAMED && name->live) ||
             (declaration->keep == KEEP_UNEVALUATED && name->unevaluated) ||
             (declaration->keep == KEEP_NAMESPACE &&
              (name->is_namespace || names_have(spaces, name->text)))))
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
            if (declaration->live || !stays(removal, declaration))
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

/* Of what goes, only the line feeds are written. */
static void write_part(FILE *stream, const char *from, const char *to, bool goes)
{
    for (; from < to; from++)
        if (!goes || *from == '\n')
            (void)fputc(*from, stream);
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
    bool went = false;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = alloc_stream(&text, &length);
    if (file < removal->code->unit_count)
        fprintf(stream, "%s%s#line 1\n", prelude, uses_std ? standard_prelude : "");
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->items[i];
        bool goes = token->fate != TOKEN_STAYS;
        write_part(stream, from, token->start, goes && went);
        if (token->fate == TOKEN_ENDS)
            (void)fputc(';', stream);
        else if (goes && !went)
            (void)fputc(' ', stream);
        else if (token->annotated && !goes)
            fputs("__host__ __device__ ", stream);
        write_part(stream, token->start, token->end, goes);
        from = token->end;
        went = goes;
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
        if (declaration->live)
            continue;
        discard(tokens, declaration->first, declaration->end);
        for (size_t j = declaration->first; j < declaration->end; j++)
            if (tokens[j].declared && tokens[j].depth == declaration->depth)
                leave_out(removal->code, tokens[j].word->text, declaration->file, tokens[j].line);
    }
}

void host_code_remove(struct host_code *code)
{
    struct removal removal = {.code = code};
    removal.files = alloc_zeroed(code->text_count, sizeof *removal.files);
    for (size_t i = 0; i < code->text_count; i++)
        read_tokens(&removal, i);
    find_meanings(&removal);
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
    for (size_t i = 0; i < removal.word_count; i++) {
        (void)tdelete(removal.words[i], &removal.tree, compare_words);
        free(removal.words[i]->text);
        free(removal.words[i]->body);
        free(removal.words[i]);
    }
    free(removal.words);
    free(removal.declarations);
    free(removal.files);
}
