/*
 * Words of ours for texts of others: a parameter's value such as "float4" or "ROW-MAJOR" becomes a
 * word that templates and sweeps can contain, always the same one for the same text.
 */
#ifndef AUTOTUNE_WORDS_H
#define AUTOTUNE_WORDS_H

#include <stddef.h>

struct words {
    char **texts;
    size_t text_count;
    char **words; /* words[i] stands for texts[i] */
    size_t word_count;
};

/* The word for `text`: itself if it is one, else the nearest that no other text has. */
const char *words_of(struct words *words, const char *text);

/*
 * A lower-case name of at least `least` and at most `most` letters, made of `text`: letters that
 * names do not have become '_'. A new string.
 */
char *words_name(const char *text, size_t least, size_t most);

void words_release(struct words *words);

#endif
