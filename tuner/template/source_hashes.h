/* The two hashes over a source and its headers, which source.h describes, while they are computed. */
#ifndef AUTOTUNE_SOURCE_HASHES_H
#define AUTOTUNE_SOURCE_HASHES_H

#include "base/hash.h"
#include "template/source_lexer.h"

#include <stdbool.h>

struct source_hashes {
    struct hash *text;          /* of every byte */
    struct hash *tokens;        /* of the tokens */
    struct hash *spaced_tokens; /* of the tokens and of where there is white space between them */
    bool stringifies;           /* a macro turns its argument into text, with its white space */
};

/* Empty ones; source_hashes_finish() releases them. */
struct source_hashes source_hashes_new(void);

/* Adds a file's bytes. */
void source_hashes_add_text(struct source_hashes *hashes, const char *text);

/* Adds the lexer's token, which is of that kind; the one before it was of the kind `last`. */
void source_hashes_add_token(struct source_hashes *hashes, const struct source_lexer *lexer,
                             enum token_kind kind, enum token_kind last, bool space_counts);

/* Adds what an #include was found to mean. */
void source_hashes_add_choice(struct source_hashes *hashes, const char *choice);

/* Computes both, and releases what they need. */
void source_hashes_finish(struct source_hashes *hashes, char text_hash[HASH_BYTES],
                          char hash[HASH_BYTES]);

#endif
