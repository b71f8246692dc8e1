#include "base/alloc.h"
#include "template/source_lexer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The tokens of `text`, each behind a letter for its kind; free the string. */
static char *tokens_of(const char *text)
{
    static const char letters[] = {
        [TOKEN_END] = '.',           [TOKEN_DIRECTIVE] = 'd',  [TOKEN_NAME] = 'n',
        [TOKEN_DIRECTIVE_END] = 'e', [TOKEN_NUMBER] = '1',     [TOKEN_TEXT] = 't',
        [TOKEN_HEADER] = 'h',        [TOKEN_PUNCTUATION] = 'p'};
    char *all = alloc_string("");
    struct source_lexer lexer;
    enum token_kind kind;
    source_lexer_init(&lexer, text);
    do {
        kind = source_lexer_next(&lexer);
        char *longer = alloc_format("%s %c%s", all, letters[kind], lexer.token);
        free(all);
        all = longer;
    } while (kind != TOKEN_END);
    source_lexer_release(&lexer);
    return all;
}

static void test_tokens(void **state)
{
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        {"", " ."},
        {"a  /* b */ +c // d\n", " na p+ nc ."},
        {"a+++b>>=1<<<2", " na p++ p+ nb p>>= 11 p<<< 12 ."},
        {"1'000.5e-3f .5 0x1p+2u", " 11'000.5e-3f 1.5 10x1p+2u ."},
        {"\"a\\\"b\" 'c' u8\"d\" L'e'", " t\"a\\\"b\" t'c' tu8\"d\" tL'e' ."},
        {"R\"x(\" \\\n/*)x\" uR\"()\" R", " tR\"x(\" \\\n/*)x\" tuR\"()\" nR ."},
        {"R\"x(never closed\nb", " tR\"x(never closed nb ."},
        {"ab\\\nc \\\r\nd \\ \ne", " nabc nd p\\ ne ."},
        {"# define A(x) #x\nb", " d# ndefine nA p( nx p) p# nx e nb ."},
        {"#include <a//b> /* c\n */ d\n", " d# ninclude h<a//b> nd e ."},
        {"#include \"a\\\"\n#include A\n", " d# ninclude h\"a\\\" e d# ninclude nA e ."},
        {"%:if __has_include(<a>) < b", " d%: nif n__has_include p( h<a> p) p< nb e ."},
        {"#if A(<a>) < b\nf(\"c\")", " d# nif nA p( h<a> p) p< nb e nf p( t\"c\" p) ."},
        {"a # include <b>", " na p# ninclude p< nb p> ."},
        {"include <b>", " ninclude p< nb p> ."},
        {"\"never closed\n'nor this", " t\"never closed t'nor this ."},
        {"/* never closed", " ."},
        {"a\\", " na p\\ ."},
        {"\\\n", " ."},
        {"#", " d# e ."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *tokens = tokens_of(cases[i].text);
        assert_string_equal(tokens, cases[i].tokens);
        free(tokens);
    }
}

static void test_lines_and_white_space(void **state)
{
    struct source_lexer lexer;
    (void)state;
    source_lexer_init(&lexer, "a/*\n*/b\\\n(R\"(\n)\"\nc");
    static const struct {
        const char *token;
        int line;
        bool spaced;
    } expected[] = {
        {"a", 1, false}, {"b", 2, true}, {"(", 3, false}, {"R\"(\n)\"", 3, false}, {"c", 5, true}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        (void)source_lexer_next(&lexer);
        assert_string_equal(lexer.token, expected[i].token);
        assert_int_equal(lexer.line, expected[i].line);
        assert_int_equal(lexer.spaced, expected[i].spaced);
    }
    assert_int_equal(source_lexer_next(&lexer), TOKEN_END);
    assert_int_equal(source_lexer_next(&lexer), TOKEN_END);
    source_lexer_release(&lexer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_lines_and_white_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
