#include "base/alloc.h"
#include "base/read_file.h"
#include "template/source.h"
#include "template/source_lexer.h"
#include "template/source_signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Each test works in a folder of its own, which is the current one. */
static int enter_folder(void **state)
{
    char *folder = alloc_string("/tmp/autotune-source-XXXXXX");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    *state = folder;
    return 0;
}

static int leave_folder(void **state)
{
    char *command = alloc_format("rm -rf '%s'", (char *)*state);
    int status = chdir("/") + system(command);
    free(command);
    free(*state);
    return status;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static struct source load(const char *path, const char *const *folders, size_t folder_count)
{
    struct source source;
    struct error error = {0};
    if (source_load(&source, path, folders, folder_count, &error) != 0)
        fail_msg("%s", error.message);
    return source;
}

static void load_hash(const char *path, const char *const *folders, size_t folder_count,
                      char hash[HASH_BYTES])
{
    struct source source = load(path, folders, folder_count);
    memcpy(hash, source.hash, HASH_BYTES);
    source_release(&source);
}

static void expect_header(const struct source *source, size_t index, const char *path)
{
    char *real = realpath(path, NULL);
    assert_non_null(real);
    assert_true(index < source->header_count);
    assert_string_equal(source->headers[index], real);
    free(real);
}

static void units_count_as_the_source_does(void **state)
{
    static const char *const paths[] = {"a.cu", "sub/b.cu"};
    static const char *const swapped[] = {"sub/b.cu", "a.cu"};
    char hashes[4][HASH_BYTES];
    (void)state;
    assert_int_equal(mkdir("sub", 0700), 0);
    write_text("a.cu", "int a;\n");
    write_text("sub/b.cu", "#include \"b.h\"\n");
    write_text("sub/b.h", "#include <cstdint>\n");
    for (size_t i = 0; i < 4; i++) {
        struct source source;
        struct error error = {0};
        if (i == 2)
            write_text("sub/b.cu", "#include \"b.h\" // a comment\n");
        if (i == 3)
            write_text("sub/b.h", "#include <cstdint>\nint c;\n");
        const struct source_files files = {.paths = i == 1 ? swapped : paths, .path_count = 2};
        if (source_load_files(&source, &files, &error) != 0)
            fail_msg("%s", error.message);
        assert_int_equal(source.unit_count, 1);
        assert_int_equal(source.header_count, 2);
        assert_int_equal(source.file_count, 3);
        assert_int_equal(source.toolkit_count, 1);
        assert_non_null(strstr(source.units[0].path, i == 1 ? "/a.cu" : "/sub/b.cu"));
        assert_non_null(strstr(source.units[0].text, i == 1 ? "int a" : "b.h"));
        memcpy(hashes[i], source.hash, HASH_BYTES);
        source_release(&source);
    }
    assert_string_not_equal(hashes[0], hashes[1]);
    assert_string_equal(hashes[0], hashes[2]);
    assert_string_not_equal(hashes[0], hashes[3]);
}

static void headers_are_followed_once_each(void **state)
{
    const char *const folders[] = {"include"};
    (void)state;
    assert_int_equal(mkdir("kernels", 0700) + mkdir("kernels/include", 0700) +
                         mkdir("kernels/include/deep", 0700),
                     0);
    write_text("kernels/k.cu", "#include \"local.h\"\n"
                               "  #  include <deep/nested.h> // angle\n"
                               "#include <cuda_fp16.h>\n"
                               "int x; // #include \"not_a_directive.h\"\n"
                               "#include \"local.h\"\n");
    write_text("kernels/local.h", "#include \"k.cu\"\n#include <common.h>\n");
    write_text("kernels/include/common.h", "#pragma once\n#include \"local.h\"\n");
    write_text("kernels/include/deep/nested.h", "#include \"sibling.h\"\r\n");
    write_text("kernels/include/deep/sibling.h", "");
    write_text("kernels/not_a_directive.h", "");
    struct source source = load("kernels/k.cu", folders, 1);
    assert_true(source.path[0] == '/');
    assert_non_null(strstr(source.path, "/kernels/k.cu"));
    assert_true(strncmp(source.text, "#include \"local.h\"", 18) == 0);
    assert_int_equal(source.header_count, 4);
    expect_header(&source, 0, "kernels/local.h");
    expect_header(&source, 1, "kernels/include/deep/nested.h");
    expect_header(&source, 2, "kernels/include/common.h");
    expect_header(&source, 3, "kernels/include/deep/sibling.h");
    assert_int_equal(source.include_count, 2);
    assert_true(source.include_folders[0][0] == '/');
    assert_non_null(strstr(source.include_folders[0], "/kernels"));
    assert_non_null(strstr(source.include_folders[1], "/kernels/include"));
    source_release(&source);
    assert_null(source.text);
}

static void the_first_folder_wins_as_in_the_compiler(void **state)
{
    const char *const folders[] = {"a", "b"};
    (void)state;
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700), 0);
    write_text("k.cu", "#include <x.h>\n");
    write_text("a/x.h", "#include \"y.h\"\n#include <z.h>\n");
    write_text("b/x.h", "");
    write_text("a/y.h", "");
    write_text("y.h", "");
    write_text("a/z.h", "");
    write_text("z.h", "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.header_count, 3);
    expect_header(&source, 0, "a/x.h");
    expect_header(&source, 1, "a/y.h"); /* beside the including file */
    expect_header(&source, 2, "z.h");   /* the source's own folder is the first one */
    source_release(&source);
}

static void the_hash_stands_for_every_text(void **state)
{
    char first[HASH_BYTES], other[HASH_BYTES];
    (void)state;
    write_text("k.cu", "#include \"h.h\"\nint a;\n");
    write_text("h.h", "int b;\n");
    load_hash("k.cu", NULL, 0, first);
    assert_int_equal(strlen(first), 32);
    assert_int_equal(strspn(first, "0123456789abcdef"), 32);
    load_hash("k.cu", NULL, 0, other);
    assert_string_equal(first, other);

    write_text("h.h", "int c;\n");
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
    write_text("h.h", "int b;\n");
    write_text("k.cu", "#include \"h.h\"\nint  a;\n");
    load_hash("k.cu", NULL, 0, other);
    assert_string_equal(first, other);
    write_text("k.cu", "#include \"h.h\"\nint a;\n");
    assert_int_equal(unlink("h.h"), 0); /* now the compiler's affair */
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
}

static void expect_hash(const char *text, const char *other, bool equal)
{
    char first[HASH_BYTES], second[HASH_BYTES];
    write_text("k.cu", text);
    load_hash("k.cu", NULL, 0, first);
    write_text("k.cu", other);
    load_hash("k.cu", NULL, 0, second);
    if ((strcmp(first, second) == 0) != equal)
        fail_msg("'%s' and '%s' have %s hash", text, other, equal ? "another" : "the same");
}

static void the_hash_is_of_the_tokens(void **state)
{
    static const struct {
        const char *text, *same;
    } equal[] = {
        {"int a; int b;", "int a; // a remark\n\n\tint b /* here */;\n"},
        {"a=b+c;", "a = b\n + c ;"},
        {"#define F(x) ((x)+1)\n", "# define F(x) \\\n ( (x) + 1 ) // one more\n"},
        {"f(\"text\");", "f( \"text\" );\r\n"},
        {"int ab;", "int a\\\nb;"},
    };
    static const struct {
        const char *text, *other;
    } different[] = {
        {"int ab;", "int a b;"},
        {"a - -b;", "a--b;"},
        {"a< ::b>", "a<: :b>"},
        {"f(\"a b\");", "f(\"a  b\");"},
        {"f(\"// a\");", "f(\"// b\");"},
        {"f(R\"(a\nb)\");", "f(R\"(a\n\nb)\");"},
        {"f(R\"(a // b)\");", "f(R\"(a // c)\");"},
        {"f(R\"(a\\\nb)\");", "f(R\"(ab)\");"},
        {"f(' ');", "f('  ');"},
        {"u8 \"a\"", "u8\"a\""},
        {"\"a\" _b", "\"a\"_b"},
        {"#define F(x) x\n", "#define F (x) x\n"},
        {"#define A 1\nb", "#define A 1 b\n"},
        {"#include <a b>\n", "#include <ab>\n"},
        {"#define S(x) #x\nS(a+b)", "#define S(x) #x\nS(a + b)"},
        {"#pragma unroll\n4;", "#pragma unroll 4\n;"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        expect_hash(equal[i].text, equal[i].same, true);
    for (size_t i = 0; i < sizeof different / sizeof *different; i++)
        expect_hash(different[i].text, different[i].other, false);
}

static void the_hash_of_the_text_is_of_every_byte(void **state)
{
    (void)state;
    write_text("k.cu", "int a;\n");
    struct source source = load("k.cu", NULL, 0);
    write_text("k.cu", "int  a;\n");
    struct source other = load("k.cu", NULL, 0);
    assert_string_equal(source.hash, other.hash);
    assert_string_not_equal(source.text_hash, other.text_hash);
    source_release(&source);
    source_release(&other);
}

static const char *const include_spellings[] = {
    "%:include \"gain.h\"\n",
    "%:\\\ninclude \"gain.h\"\n",
    "?\?=include \"gain.h\"\n",
    "#include_next <gain.h>\n",
    "/* a comment */ #include \"gain.h\"\n",
    "/* two\n lines */#/**/include/**/\"gain.h\"\n",
    "#inc\\\nlude \"gain.h\"\n",
    "#include \\\r\n \"ga\\\nin.h\"\n",
    "\v\f#\tinclude<gain.h>",
    "#if __has_include(\"gain.h\")\n#endif\n",
    "#if defined __has_include && __has_include( <gain.h> )\n#endif\n",
    "#define HAVE(x) __has_include(x)\n#if HAVE(\"gain.h\")\n#endif\n",
    "#define HAVE(x) __has_include(x)\n#if 1\n#elif 1 && HAVE( <gain.h>)\n#endif\n",
    "// \\ \n#include \"gain.h\"\n",
    "const char *text = \"/* \";\n#include \"gain.h\"\n",
    "const char *text = R\"(\" /* )\";\n#include \"gain.h\"\n",
    "const char *text = R\"x(\\\n)\" /* )x\";\n#include \"gain.h\"\n",
    "int a = 1'000'000; // it's\n#include \"gain.h\"\n",
    "#error don't /* stop\n#include \"gain.h\"\n",
};

static void a_header_is_found_however_it_is_included(void **state)
{
    (void)state;
    write_text("gain.h", "");
    for (size_t i = 0; i < sizeof include_spellings / sizeof *include_spellings; i++) {
        write_text("k.cu", include_spellings[i]);
        struct source source = load("k.cu", NULL, 0);
        bool found = false;
        for (size_t j = 0; j < source.header_count; j++)
            found = found || strstr(source.headers[j], "/gain.h") != NULL;
        source_release(&source);
        if (!found)
            fail_msg("no header in %s", include_spellings[i]);
    }
}

static void what_is_no_directive_includes_nothing(void **state)
{
    static const char *const texts[] = {
        "// #include \"gain.h\"\n",      "// \\\n#include \"gain.h\"\n",
        "/*\n#include \"gain.h\"\n*/\n", "const char *text = R\"(\n#include \"gain.h\"\n)\";\n",
        "int x; #include \"gain.h\"\n",  "#includes \"gain.h\"\n",
        "#pragma include \"gain.h\"\n",  "#include \"gain.h\n",
    };
    (void)state;
    write_text("gain.h", "");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text("k.cu", texts[i]);
        struct source source = load("k.cu", NULL, 0);
        if (source.header_count != 0)
            fail_msg("a header in %s", texts[i]);
        source_release(&source);
    }
}

static void every_header_that_include_next_can_mean_counts(void **state)
{
    const char *const folders[] = {"a", "b"};
    (void)state;
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700), 0);
    write_text("k.cu", "#include <x.h>\n");
    write_text("a/x.h", "#include_next <x.h>\n");
    write_text("b/x.h", "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.header_count, 2);
    expect_header(&source, 0, "a/x.h");
    expect_header(&source, 1, "b/x.h");
    source_release(&source);
}

static void what_a_toolkit_header_can_find_counts(void **state)
{
    const char *const folders[] = {"a", "b"};
    struct error error = {0};
    char first[HASH_BYTES], other[HASH_BYTES];
    (void)state;
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700) + mkdir("b/cuda", 0700), 0);
    assert_int_equal(mkdir("b/cuda/std", 0700) + mkdir("b/mine", 0700), 0);
    write_text("k.cu", "#include <tuple>\n");
    write_text("b/cuda/std/tuple", "#include REFUSED(if it were the source's own)\n");
    write_text("b/cuda/data.bin", "");
    write_text("b/mine/x.h", "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.header_count, 1);
    assert_int_equal(source.followed_count, 0);
    expect_header(&source, 0, "b/cuda/std/tuple");
    memcpy(first, source.hash, HASH_BYTES);
    assert_int_equal(source_check(&source, &error), 0);
    write_text("b/cuda/std/tuple", "#error another one\n");
    assert_int_equal(source_check(&source, &error), ERROR_CONFIG);
    source_release(&source);
    load_hash("k.cu", folders, 2, other);
    assert_string_not_equal(first, other);
    write_text("k.cu", "int a;\n"); /* nothing of the toolkit's */
    source = load("k.cu", folders, 2);
    assert_int_equal(source.header_count, 0);
    source_release(&source);
}

static void a_header_that_the_toolkit_can_find_is_scanned(void **state)
{
    static const char *const found[] = {"cuda.h", "cuda_runtime_api.h", "mma.h", "version"};
    char first[HASH_BYTES], other[HASH_BYTES];
    (void)state;
    write_text("k.cu", "#include <tuple>\n");
    write_text("own.h", "");
    write_text("unrelated.h", "");
    write_text("cuda_program", ""); /* as of `make cuda_program` */
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        write_text(found[i], "#include \"own.h\"\n#include <cstdint>\n");
    struct source source = load("k.cu", NULL, 0);
    assert_int_equal(source.followed_count, 0);
    assert_int_equal(source.header_count, 5);
    for (size_t i = 0; i < 4; i++)
        expect_header(&source, i, found[i]);
    expect_header(&source, 4, "own.h");
    assert_int_equal(source.file_count, 6);
    assert_int_equal(source.toolkit_count, 1);
    memcpy(first, source.hash, HASH_BYTES);
    source_release(&source);
    write_text("own.h", "int a;\n");
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
}

/* Both hashes, of which the second is that of the text. */
static void load_hashes(const char *const *folders, size_t count, char hashes[2][HASH_BYTES])
{
    struct source source = load("k.cu", folders, count);
    memcpy(hashes[0], source.hash, HASH_BYTES);
    memcpy(hashes[1], source.text_hash, HASH_BYTES);
    source_release(&source);
}

static void expect_other_hashes(const char *const *a, size_t a_count, const char *const *b,
                                size_t b_count)
{
    char first[2][HASH_BYTES], other[2][HASH_BYTES];
    load_hashes(a, a_count, first);
    load_hashes(b, b_count, other);
    assert_string_not_equal(first[0], other[0]);
    assert_string_not_equal(first[1], other[1]);
}

static void which_file_of_a_name_is_included_changes_the_hashes(void **state)
{
    const char *const before[] = {"p", "q", "r"}, *const after[] = {"p", "r", "q"};
    (void)state;
    assert_int_equal(mkdir("p", 0700) + mkdir("q", 0700) + mkdir("r", 0700), 0);
    write_text("k.cu", "#include \"q/c.h\"\n#include <c.h>\n");
    write_text("p/c.h", "#include_next <c.h>\n");
    write_text("q/c.h", "int q;\n");
    write_text("r/c.h", "int r;\n");
    expect_other_hashes(before, 3, after, 3);
    /* b.h finds p/c.h if it is in p itself */
    write_text("k.cu", "#include \"p/a.h\"\n#include <b.h>\n");
    write_text("p/a.h", "#include \"c.h\"\n");
    write_text("p/c.h", "int p;\n");
    write_text("p/b.h", "#if __has_include(\"c.h\")\n#endif\n");
    assert_int_equal(mkdir("s", 0700) + link("p/b.h", "s/b.h"), 0);
    expect_other_hashes((const char *[]){"p"}, 1, (const char *[]){"s"}, 1);
}

static void what_a_linked_header_includes_is_beside_the_link(void **state)
{
    (void)state;
    assert_int_equal(mkdir("p", 0700) + mkdir("store", 0700), 0);
    write_text("k.cu", "#include \"p/a.h\"\n#include \"linked/a.h\"\n");
    write_text("store/a.h", "#include \"b.h\"\n");
    write_text("store/b.h", "");
    write_text("p/b.h", "");
    assert_int_equal(symlink("../store/a.h", "p/a.h") + symlink("p", "linked"), 0);
    struct source source = load("k.cu", NULL, 0);
    assert_int_equal(source.header_count, 2);
    assert_non_null(strstr(source.headers[0], "/p/a.h"));
    expect_header(&source, 1, "p/b.h");
    source_release(&source);
}

static void text_moved_between_headers_changes_the_hash(void **state)
{
    char first[HASH_BYTES], other[HASH_BYTES];
    (void)state;
    write_text("k.cu", "#include \"a.h\"\n#include \"b.h\"\n");
    write_text("a.h", "int x;\n");
    load_hash("k.cu", NULL, 0, first);
    assert_int_equal(rename("a.h", "b.h"), 0);
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
}

static void the_hash_survives_a_move_of_the_folder(void **state)
{
    char first[HASH_BYTES], other[HASH_BYTES];
    (void)state;
    assert_int_equal(mkdir("before", 0700), 0);
    write_text("before/k.cu", "#include \"h.h\"\n");
    write_text("before/h.h", "int b;\n");
    load_hash("before/k.cu", NULL, 0, first);
    assert_int_equal(rename("before", "after"), 0);
    load_hash("after/k.cu", NULL, 0, other);
    assert_string_equal(first, other);
}

static void expect_refusal(const char *path, const char *const *folders, size_t folder_count,
                           const char *named)
{
    struct source source;
    struct error error = {0};
    assert_int_equal(source_load(&source, path, folders, folder_count, &error), ERROR_CONFIG);
    if (strstr(error.message, named) == NULL)
        fail_msg("'%s' not in '%s'", named, error.message);
    assert_null(source.path);
    assert_int_equal(source.header_count, 0);
}

static void what_cannot_be_read_is_named(void **state)
{
    const char *const folders[] = {"nowhere"};
    (void)state;
    expect_refusal("missing.cu", NULL, 0, "'missing.cu'");
    expect_refusal(".", NULL, 0, "cannot read");
    expect_refusal("", NULL, 0, "''");
    write_text("k.cu", "int a;\n");
    expect_refusal("k.cu", folders, 1, "'nowhere'");
    FILE *file = fopen("zero.cu", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite("int a;\0int b;", 1, 13, file), 13);
    assert_int_equal(fclose(file), 0);
    expect_refusal("zero.cu", NULL, 0, "zero byte");
}

static void an_include_whose_file_cannot_be_told_is_refused(void **state)
{
    static const char *const texts[] = {
        "#define G \"gain.h\"\n#include G\n",
        "int a;\n#include (\"gain.h\")\n",
        "int a;\n#if __has_include(HEADER)\n#endif\n",
        "int a;\n#define HAS_G __has_include(G)\n",
        "int a;\n#include G(\"gain.h\")\n",
    };
    (void)state;
    write_text("gain.h", "");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text("k.cu", texts[i]);
        expect_refusal("k.cu", NULL, 0, "cannot tell which file the #include of '");
        struct source source;
        struct error error = {0};
        assert_int_equal(source_load(&source, "k.cu", NULL, 0, &error), ERROR_CONFIG);
        assert_int_equal(error.line, 2);
        assert_non_null(strstr(error.file, "/k.cu"));
    }
}

static void a_whole_file_is_read_and_a_huge_one_refused(void **state)
{
    char *text = NULL;
    size_t length = 0;
    struct error error = {0};
    (void)state;
    write_text("empty", "");
    assert_int_equal(read_file("empty", &text, &length, &error), 0);
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    free(text);

    FILE *file = fopen("large", "wb"); /* longer than any first buffer */
    assert_non_null(file);
    for (int i = 0; i < 300000; i++)
        fputc('a' + i % 26, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(read_file("large", &text, &length, &error), 0);
    assert_int_equal(length, 300000);
    assert_int_equal(strlen(text), 300000);
    assert_int_equal(text[299999], 'a' + 299999 % 26);
    free(text);

    assert_int_equal(truncate("large", 64 << 20), 0); /* sparse */
    assert_int_equal(read_file("large", &text, NULL, &error), 0);
    free(text);
    assert_int_equal(truncate("large", (64 << 20) + 1), 0);
    assert_int_equal(read_file("large", &text, &length, &error), ERROR_CONFIG);
    assert_null(text);
    assert_non_null(strstr(error.message, "'large'"));
}

static void hash_is_xxh3_128_and_tells_texts_apart(void **state)
{
    char digits[HASH_BYTES], other[HASH_BYTES];
    (void)state;
    hash_finish(hash_new(), digits);
    assert_string_equal(digits, "99aa06d3014798d86001c324468d497f"); /* of nothing, as xxh128sum */
    struct hash *hash = hash_new();
    hash_add(hash, "a", 1);
    hash_add(hash, "bc", 2);
    hash_finish(hash, digits);
    assert_string_equal(digits, "06b05ab6733a618578af5f94892f3950"); /* of abc */

    hash = hash_new();
    hash_add_text(hash, "ab");
    hash_add_text(hash, "c");
    hash_finish(hash, digits);
    hash = hash_new();
    hash_add_text(hash, "a");
    hash_add_text(hash, "bc");
    hash_finish(hash, other);
    assert_string_not_equal(digits, other);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

/* --- tokens --- */

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

/* --- declarations --- */

static void assert_signature(const char *source, const char *expected)
{
    struct source_signature signature;
    assert_true(source_signature_read(source, "k", &signature));
    char *text = source_signature_text(&signature);
    assert_string_equal(text, expected);
    free(text);
    source_signature_release(&signature);
}

static void assert_unknown(const char *source)
{
    struct source_signature signature;
    assert_false(source_signature_read(source, "k", &signature));
    assert_int_equal(signature.count, 0);
    assert_null(signature.parameters);
}

static void parameters_are_as_the_source_writes_them(void **state)
{
    (void)state;
    assert_signature("extern \"C\" __global__ void k(const float *__restrict__ in, int n) {}",
                     "const float *__restrict__ in, int n");
    assert_signature(
        "extern \"C\" {\n__global__ void __launch_bounds__(N, (1))\n  k(float * /* x */ in)"
        " { k(1); } }",
        "float * in");
    assert_signature("__global__ void k(); void k(int);", "");
    assert_signature("__global__ void k(void);", "");
    assert_signature("__global__ void k(pair<int, 2> a, float b[4]);",
                     "pair<int, 2> a, float b[4]");
    assert_signature(
        "__global__ void k(pair<int, vec<int>> p, vec<vec<vec<int>>> q, int n = 8 >> 1);",
        "pair<int, vec<int>> p, vec<vec<vec<int>>> q, int n = 8 >> 1");
    assert_signature("__global__ void k(vec<(N >> 1)> p, int n);", "vec<(N >> 1)> p, int n");
    assert_signature("__global__ void k(int n);\n#define X k(\n__global__ void k(int n) {}",
                     "int n");
}

static void what_cannot_be_told_is_unknown(void **state)
{
    (void)state;
    assert_unknown("");
    assert_unknown("void k(int n);");
    assert_unknown("__global__ void other(int n);");
    assert_unknown("#define K __global__ void k(int n)\nK {}");
    assert_unknown("__global__ void k(int n);\n__global__ void k(float n);");
    assert_unknown("__global__ void k(int n\n#if X\n, int m\n#endif\n);");
    assert_unknown("__global__ void k(int n");
    assert_unknown("__global__ void k(");
}

static void assert_parameter(const char *parameter, bool pointer, int type)
{
    char source[128];
    struct source_signature signature;
    (void)snprintf(source, sizeof source, "__global__ void k(%s) {}", parameter);
    assert_true(source_signature_read(source, "k", &signature));
    assert_int_equal(signature.count, 1);
    assert_int_equal(signature.parameters[0].pointer, pointer);
    assert_int_equal(signature.parameters[0].known, type >= 0);
    if (type >= 0)
        assert_int_equal(signature.parameters[0].type, type);
    source_signature_release(&signature);
}

static void basic_types_are_known(void **state)
{
    (void)state;
    assert_parameter("int n", false, ELEMENT_INT32);
    assert_parameter("unsigned n", false, ELEMENT_UINT32);
    assert_parameter("const unsigned long long int n", false, ELEMENT_UINT64);
    assert_parameter("long", false, ELEMENT_INT64);
    assert_parameter("short int s", false, ELEMENT_INT16);
    assert_parameter("unsigned char c", false, ELEMENT_UINT8);
    assert_parameter("bool b", false, ELEMENT_UINT8);
    assert_parameter("std::size_t n", false, ELEMENT_UINT64);
    assert_parameter("double const *const x", true, ELEMENT_DOUBLE);
    assert_parameter("const __half *__restrict__ x", true, ELEMENT_HALF);
    assert_parameter("float x[]", true, ELEMENT_FLOAT);
}

static void other_types_are_not(void **state)
{
    (void)state;
    assert_parameter("u64 n", false, -1);
    assert_parameter("T *x", true, -1);
    assert_parameter("void *x", true, -1);
    assert_parameter("float4 *x", true, -1);
    assert_parameter("float **x", true, -1);
    assert_parameter("float *RESTRICT x", true, -1);
    assert_parameter("long double x", false, -1);
    assert_parameter("struct point p", false, -1);
}

/* What `parameter` is in an instance of template <DECLARED> k; -1: not known. */
static int type_in(const char *declared, const char *parameter, const char *symbol)
{
    char source[256];
    struct source_signature signature;
    (void)snprintf(source, sizeof source,
                   "template <class U> struct other {};\ntemplate <%s>\n__global__ void k(%s) {}",
                   declared, parameter);
    assert_true(source_signature_read(source, "k", &signature));
    assert_false(signature.parameters[0].known);
    struct source_parameter instance = source_parameter_in(&signature.parameters[0], symbol);
    int type = instance.known ? (int)instance.type : -1;
    source_signature_release(&signature);
    return type;
}

/* The names are NVRTC's. */
static void a_mangled_name_tells_the_types_of_a_template(void **state)
{
    (void)state;
    static const char half[] = "_Z5scaleI6__halfLi4EEvPKT_PS1_yS1_PKS3_";
    assert_int_equal(type_in("typename T, int N", "const T *in", half), ELEMENT_HALF);
    assert_int_equal(type_in("typename T, int N", "T f", half), ELEMENT_HALF);
    assert_int_equal(type_in("typename T, int N", "const T *const *p", half), -1);
    assert_int_equal(type_in("typename T, int N", "vec<T> p", half), -1);
    assert_int_equal(type_in("typename T, int N", "U *p", half), -1);
    assert_int_equal(type_in("typename T, int N", "N *p", half), -1);
    assert_int_equal(type_in("int N = (8 >> 1), class A = vec<vec<int>>, class B = int", "B *p",
                             "_ZN2ns1kILin4EfhEEvPT1_"),
                     ELEMENT_UINT8);
    assert_int_equal(type_in("class A, class B", "B *p", "_ZN2ns1kI6__halfS1_NS_1VELb0ELi3EEEvPT_"),
                     ELEMENT_HALF);
    assert_int_equal(
        type_in("class A, class B, class C", "C *p", "_ZN2ns1kIfNS_1VENS_1WIiEELb1ELi3EEEvPT_"),
        -1);
    static const char *const cut[] = {
        "",           "_Z",           "_Z5sc",       "_Z5scale",   "_Z5scaleI", "_Z5scaleI6__ha",
        "_Z5scaleIS", "_Z5scaleIS9_", "_Z5scaleILi", "_Z5scaleIL", "k"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        assert_int_equal(type_in("class T", "T *p", cut[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(headers_are_followed_once_each),
        IN_FOLDER(units_count_as_the_source_does),
        IN_FOLDER(a_header_is_found_however_it_is_included),
        IN_FOLDER(what_is_no_directive_includes_nothing),
        IN_FOLDER(every_header_that_include_next_can_mean_counts),
        IN_FOLDER(what_a_toolkit_header_can_find_counts),
        IN_FOLDER(a_header_that_the_toolkit_can_find_is_scanned),
        IN_FOLDER(an_include_whose_file_cannot_be_told_is_refused),
        IN_FOLDER(the_first_folder_wins_as_in_the_compiler),
        IN_FOLDER(the_hash_stands_for_every_text),
        IN_FOLDER(the_hash_is_of_the_tokens),
        IN_FOLDER(the_hash_of_the_text_is_of_every_byte),
        IN_FOLDER(which_file_of_a_name_is_included_changes_the_hashes),
        IN_FOLDER(what_a_linked_header_includes_is_beside_the_link),
        IN_FOLDER(text_moved_between_headers_changes_the_hash),
        IN_FOLDER(the_hash_survives_a_move_of_the_folder),
        IN_FOLDER(what_cannot_be_read_is_named),
        IN_FOLDER(a_whole_file_is_read_and_a_huge_one_refused),
        cmocka_unit_test(hash_is_xxh3_128_and_tells_texts_apart),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_lines_and_white_space),
        cmocka_unit_test(parameters_are_as_the_source_writes_them),
        cmocka_unit_test(what_cannot_be_told_is_unknown),
        cmocka_unit_test(basic_types_are_known),
        cmocka_unit_test(other_types_are_not),
        cmocka_unit_test(a_mangled_name_tells_the_types_of_a_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
