#include "template/source_hashes.h"

struct source_hashes source_hashes_new(void)
{
    return (struct source_hashes){
        .text = hash_new(), .tokens = hash_new(), .spaced_tokens = hash_new()};
}

void source_hashes_add_text(struct source_hashes *hashes, const char *text)
{
    hash_add_text(hashes->text, text);
}

/*
 * White space counts behind the name that a #define defines, and between a name and a literal.
 * Everything else about it is in the tokens, unless a macro makes text of its argument.
 */
void source_hashes_add_token(struct source_hashes *hashes, const struct source_lexer *lexer,
                             enum token_kind kind, enum token_kind last, bool space_counts)
{
    bool literal =
        (kind == TOKEN_TEXT && last == TOKEN_NAME) || (kind == TOKEN_NAME && last == TOKEN_TEXT);
    const char tag = (char)kind;
    const char *spaced = lexer->spaced ? "1" : "0";
    struct hash *both[] = {hashes->tokens, hashes->spaced_tokens};
    for (size_t i = 0; i < 2; i++) {
        hash_add(both[i], &tag, 1);
        hash_add(both[i], i == 1 || space_counts || literal ? spaced : "-", 1);
        hash_add_text(both[i], lexer->token);
    }
}

void source_hashes_add_choice(struct source_hashes *hashes, const char *choice)
{
    hash_add_text(hashes->text, choice);
    hash_add_text(hashes->tokens, choice);
    hash_add_text(hashes->spaced_tokens, choice);
}

void source_hashes_finish(struct source_hashes *hashes, char text_hash[HASH_BYTES],
                          char hash[HASH_BYTES])
{
    char other[HASH_BYTES];
    hash_finish(hashes->text, text_hash);
    hash_finish(hashes->tokens, hashes->stringifies ? other : hash);
    hash_finish(hashes->spaced_tokens, hashes->stringifies ? hash : other);
}
