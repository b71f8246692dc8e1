#include "exchange/words.h"

#include "base/alloc.h"
#include "base/literal.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

char *words_name(const char *text, size_t least, size_t most)
{
    while (*text != '\0' && !isalnum((unsigned char)*text))
        text++;
    bool letter = isalpha((unsigned char)*text) && (unsigned char)*text < 0x80;
    char *name = alloc_format("%s%.*s", letter ? "" : "v_", (int)most - 2, text);
    for (char *c = name; *c != '\0'; c++)
        *c = isalnum((unsigned char)*c) && (unsigned char)*c < 0x80
                 ? (char)tolower((unsigned char)*c)
                 : '_';
    if (strlen(name) < least) {
        char *longer = alloc_format("%s_value", name);
        free(name);
        name = longer;
    }
    return name;
}

/* Words that mean true and false are none of a text's. */
static bool is_free(const struct words *words, const char *word)
{
    static const char *const truths[] = {"true", "false", "yes", "no"};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strcmp(truths[i], word) == 0)
            return false;
    for (size_t i = 0; i < words->word_count; i++)
        if (strcmp(words->words[i], word) == 0)
            return false;
    return true;
}

const char *words_of(struct words *words, const char *text)
{
    for (size_t i = 0; i < words->text_count; i++)
        if (strcmp(words->texts[i], text) == 0)
            return words->words[i];
    char *word = literal_is_name(text, LITERAL_WORD_LETTERS)
                     ? alloc_string(text)
                     : words_name(text, 1, LITERAL_WORD_LETTERS - 6);
    for (int number = 2; !is_free(words, word); number++) {
        char *base = words_name(text, 1, LITERAL_WORD_LETTERS - 6);
        free(word);
        word = alloc_format("%s_%d", base, number);
        free(base);
    }
    *ARRAY_APPEND(words->texts, words->text_count) = alloc_string(text);
    *ARRAY_APPEND(words->words, words->word_count) = word;
    return word;
}

void words_release(struct words *words)
{
    for (size_t i = 0; i < words->text_count; i++) {
        free(words->texts[i]);
        free(words->words[i]);
    }
    free(words->texts);
    free(words->words);
    *words = (struct words){0};
}
