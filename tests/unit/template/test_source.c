#include "base/alloc.h"

#include "base/read_file.h"
#include "template/source.h"
#include "template/source_lexer.h"
#include "template/source_signature.h"

#include "unit/cases.h"
#include "unit/scratch.h"

#include <sys/stat.h>

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
    assert_true(index + 1 < source->file_count);
    assert_string_equal(source->files[index + 1].path, real);
    free(real);
}

UNIT_TEST_WITH(units_count_as_the_source_does, scratch_enter, scratch_leave)
{
    static const char *const paths[] = {"a.cu", "sub/b.cu"};
    static const char *const swapped[] = {"sub/b.cu", "a.cu"};
    char hashes[4][HASH_BYTES];
    assert_int_equal(mkdir("sub", 0700), 0);
    scratch_write("a.cu", "int a;\n");
    scratch_write("sub/b.cu", "#include \"b.h\"\n");
    scratch_write("sub/b.h", "#include <cstdint>\n");
    for (size_t i = 0; i < 4; i++) {
        struct source source;
        struct error error = {0};
        if (i == 2)
            scratch_write("sub/b.cu", "#include \"b.h\" // a comment\n");
        if (i == 3)
            scratch_write("sub/b.h", "#include <cstdint>\nint c;\n");
        const struct source_files files = {.paths = i == 1 ? swapped : paths, .path_count = 2};
        if (source_load_files(&source, &files, &error) != 0)
            fail_msg("%s", error.message);
        assert_int_equal(source.unit_count, 2);
        assert_int_equal(source.file_count, 3);
        assert_int_equal(source.toolkit_count, 1);
        assert_non_null(strstr(source.files[1].path, i == 1 ? "/a.cu" : "/sub/b.cu"));
        assert_non_null(strstr(source.files[1].text, i == 1 ? "int a" : "b.h"));
        memcpy(hashes[i], source.hash, HASH_BYTES);
        source_release(&source);
    }
    assert_string_not_equal(hashes[0], hashes[1]);
    assert_string_equal(hashes[0], hashes[2]);
    assert_string_not_equal(hashes[0], hashes[3]);
}

UNIT_TEST_WITH(headers_are_followed_once_each, scratch_enter, scratch_leave)
{
    const char *const folders[] = {"include"};
    assert_int_equal(mkdir("kernels", 0700) + mkdir("kernels/include", 0700) +
                         mkdir("kernels/include/deep", 0700),
                     0);
    scratch_write("kernels/k.cu", "#include \"local.h\"\n"
                                  "  #  include <deep/nested.h> // angle\n"
                                  "#include <cuda_fp16.h>\n"
                                  "int x; // #include \"not_a_directive.h\"\n"
                                  "#include \"local.h\"\n");
    scratch_write("kernels/local.h", "#include \"k.cu\"\n#include <common.h>\n");
    scratch_write("kernels/include/common.h", "#pragma once\n#include \"local.h\"\n");
    scratch_write("kernels/include/deep/nested.h", "#include \"sibling.h\"\r\n");
    scratch_write("kernels/include/deep/sibling.h", "");
    scratch_write("kernels/not_a_directive.h", "");
    struct source source = load("kernels/k.cu", folders, 1);
    assert_true(source.files[0].path[0] == '/');
    assert_non_null(strstr(source.files[0].path, "/kernels/k.cu"));
    assert_true(strncmp(source.files[0].text, "#include \"local.h\"", 18) == 0);
    assert_int_equal(source.file_count, 5);
    expect_header(&source, 0, "kernels/local.h");
    expect_header(&source, 1, "kernels/include/deep/nested.h");
    expect_header(&source, 2, "kernels/include/common.h");
    expect_header(&source, 3, "kernels/include/deep/sibling.h");
    assert_int_equal(source.include_count, 2);
    assert_true(source.include_folders[0][0] == '/');
    assert_non_null(strstr(source.include_folders[0], "/kernels"));
    assert_non_null(strstr(source.include_folders[1], "/kernels/include"));
    source_release(&source);
    assert_null(source.files);
}

UNIT_TEST_WITH(the_first_folder_wins_as_in_the_compiler, scratch_enter, scratch_leave)
{
    const char *const folders[] = {"a", "b"};
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700), 0);
    scratch_write("k.cu", "#include <x.h>\n");
    scratch_write("a/x.h", "#include \"y.h\"\n#include <z.h>\n");
    scratch_write("b/x.h", "");
    scratch_write("a/y.h", "");
    scratch_write("y.h", "");
    scratch_write("a/z.h", "");
    scratch_write("z.h", "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.file_count, 4);
    expect_header(&source, 0, "a/x.h");
    expect_header(&source, 1, "a/y.h"); /* beside the including file */
    expect_header(&source, 2, "z.h");   /* the source's own folder is the first one */
    source_release(&source);
}

UNIT_TEST_WITH(a_name_without_a_dot_also_means_that_name_with_stdh, scratch_enter, scratch_leave)
{
    const char *const folders[] = {"a.d", "b"};
    assert_int_equal(mkdir("a.d", 0700) + mkdir("b", 0700) + mkdir("a.d/y", 0700), 0);
    scratch_write("k.cu", "#include <x>\n#include \"y\"\n#include \"a.d/z\"\n#include <u.h>\n");
    static const char *const files[] = {
        "a.d/x",      "a.d/x.stdh",   "a.d/y.stdh",     "b/y",
        "a.d/z.stdh", "a.d/u.h.stdh", "a.d/tuple.stdh", "b/version.stdh"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        scratch_write(files[i], "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.followed_count, 4);
    expect_header(&source, 0, "a.d/x");
    expect_header(&source, 1, "a.d/y.stdh"); /* y is a folder there */
    expect_header(&source, 2, "a.d/z.stdh");
    expect_header(&source, 3, "a.d/tuple.stdh"); /* which the toolkit's headers may find */
    expect_header(&source, 4, "b/version.stdh");
    assert_int_equal(source.file_count, 6);
    source_release(&source);
}

UNIT_TEST_WITH(the_hash_stands_for_every_text, scratch_enter, scratch_leave)
{
    char first[HASH_BYTES], other[HASH_BYTES];
    scratch_write("k.cu", "#include \"h.h\"\nint a;\n");
    scratch_write("h.h", "int b;\n");
    load_hash("k.cu", NULL, 0, first);
    assert_int_equal(strlen(first), 32);
    assert_int_equal(strspn(first, "0123456789abcdef"), 32);
    load_hash("k.cu", NULL, 0, other);
    assert_string_equal(first, other);

    scratch_write("h.h", "int c;\n");
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
    scratch_write("h.h", "int b;\n");
    scratch_write("k.cu", "#include \"h.h\"\nint  a;\n");
    load_hash("k.cu", NULL, 0, other);
    assert_string_equal(first, other);
    scratch_write("k.cu", "#include \"h.h\"\nint a;\n");
    assert_int_equal(unlink("h.h"), 0); /* now the compiler's affair */
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
}

/* What NVRTC cannot reach makes no version; everything that it can does. */
UNIT_TEST_WITH(ignored_host_code_makes_no_version, scratch_enter, scratch_leave)
{
    static const char *const path = "k.cu";
    static const char *const roots[] = {"kernel<Root>"};
    static const char kernel[] =
        "__global__ void k(float *x) { *x = used(sizeof(test(0))) + .member; }";
    static const char *const same[] = {
        "",
        "void f() { g<<<1, 1>>>(); }",
        "#include <vector>",
        "int main() { return '{'; }",
        "template <class T> T f(T x) { return x; } template int f<int>(int);",
        "int v{3};",
        "struct Unnamed { int a; };",
        "using Other = int;",
        "typedef void (*Callback)(int);",
        "const int member = 3;",
        "class A { void f(); public: A(); }; A::A() : x{1}, y(2) {} void A::f() {}",
        "extern \"C\" int printf(const char *, ...);",
        "auto f() -> int { return 1; }",
        "MACRO(module, m) { m.def(R\"(})\"); }",

        "template <class T> constexpr int other<T *> = 2;",
        "const char *(*names)(int);",

        "/* a comment */",
        "constexpr int two() { return 2; }",
        "__host__ __forceinline__ int h(int a[2]) noexcept(true) { return a[0]; }",
        "int f(int x = (1 > 2)) try { return x; } catch (...) { return 0; }"};
    static const char *const different[] = {"constexpr int used(int n) { return n; }",
                                            "const int used = 3;",
                                            "using Root = int;",
                                            "typedef float (*Root)(float);",
                                            "struct used { int a; };",
                                            "char test(int);",
                                            "enum { UNNAMED };",
                                            "__device__ int a;",
                                            "template <> struct Root<int> {};",
                                            "template <class T> Root(T) -> Root<T>;",
                                            "#define D __device__\nD int f() { return 1; }",
                                            "C10_DEVICE int f();",
                                            "template <class T> constexpr int used<T *> = 2;",
                                            "template <class T> constexpr bool used<T, A<T>> = 1;",
                                            "template <class T> constexpr bool used<T const *>{1};",
                                            "template <class T> constexpr bool used<T(Q)> = true;",
                                            "static_assert(sizeof(int) == 4);",
                                            "int f() { {",
                                            "#pragma once",
                                            "struct Unnamed { __device__ int f(); };",
                                            "template __global__ void t<int>(int *);"};
    char first[HASH_BYTES] = "";
    for (size_t i = 0; i < sizeof same / sizeof *same + sizeof different / sizeof *different; i++) {
        bool is_same = i < sizeof same / sizeof *same;
        const char *text = is_same ? same[i] : different[i - sizeof same / sizeof *same];
        char *whole = alloc_format("%s\n%s\n", text, kernel);
        struct source source;
        struct error error = {0};
        scratch_write(path, whole);
        const struct source_files files = {
            .paths = &path, .path_count = 1, .roots = roots, .root_count = 1};
        assert_int_equal(source_load_files(&source, &files, &error), 0);
        if (i == 0)
            memcpy(first, source.hash, HASH_BYTES);
        if (is_same != (strcmp(first, source.hash) == 0))
            fail_msg("'%s' leaves:\n%s", text, source.files[0].text);
        assert_int_equal(source_check(&source, &error), 0);
        source_release(&source);
        free(whole);
    }
}

UNIT_TEST_WITH(members_without_host_code_stay, scratch_enter, scratch_leave)
{
    static const char *const path = "k.cu";
    static const char *const roots[] = {"kernel<Root>"};
    static const char text[] = "#define FIELD(type, name) alignas(type) type name\n"
                               "#define WHOLE(type, name) type name;\n"
                               "#define METHOD(name) void name(int x)\n"
                               "struct Root {\n"
                               "float (*stays1)(float);\n"
                               "float (*stays2)[4];\n"
                               "int (&stays3)[4];\n"
                               "FIELD(float, stays4);\n"
                               "WHOLE(float, stays5)\n"
                               "METHOD(goes);\n"
                               "float (*goes(int))[4];\n"
                               "void goes(float *x) {}\n"
                               "};\n";
    struct source source;
    struct error error = {0};
    scratch_write(path, text);
    const struct source_files files = {
        .paths = &path, .path_count = 1, .roots = roots, .root_count = 1};
    assert_int_equal(source_load_files(&source, &files, &error), 0);
    for (char name[] = "stays1"; name[5] < '6'; name[5]++)
        if (strstr(source.files[0].text, name) == NULL)
            fail_msg("no %s in:\n%s", name, source.files[0].text);
    if (strstr(source.files[0].text, "goes") != NULL)
        fail_msg("%s", source.files[0].text);
    source_release(&source);
}

UNIT_TEST_WITH(the_hash_of_the_text_is_of_every_byte, scratch_enter, scratch_leave)
{
    scratch_write("k.cu", "int a;\n");
    struct source source = load("k.cu", NULL, 0);
    scratch_write("k.cu", "int  a;\n");
    struct source other = load("k.cu", NULL, 0);
    assert_string_equal(source.hash, other.hash);
    assert_string_not_equal(source.text_hash, other.text_hash);
    source_release(&source);
    source_release(&other);
}

UNIT_TEST_WITH(every_header_that_include_next_can_mean_counts, scratch_enter, scratch_leave)
{
    const char *const folders[] = {"a", "b"};
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700), 0);
    scratch_write("k.cu", "#include <x.h>\n");
    scratch_write("a/x.h", "#include_next <x.h>\n");
    scratch_write("b/x.h", "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.file_count, 3);
    expect_header(&source, 0, "a/x.h");
    expect_header(&source, 1, "b/x.h");
    source_release(&source);
}

UNIT_TEST_WITH(what_a_toolkit_header_can_find_counts, scratch_enter, scratch_leave)
{
    const char *const folders[] = {"a", "b"};
    struct error error = {0};
    char first[HASH_BYTES], other[HASH_BYTES];
    assert_int_equal(mkdir("a", 0700) + mkdir("b", 0700) + mkdir("b/cuda", 0700), 0);
    assert_int_equal(mkdir("b/cuda/std", 0700) + mkdir("b/mine", 0700), 0);
    scratch_write("k.cu", "#include <tuple>\n");
    scratch_write("b/cuda/std/tuple", "#include REFUSED(if it were the source's own)\n");
    scratch_write("b/cuda/data.bin", "");
    scratch_write("b/mine/x.h", "");
    struct source source = load("k.cu", folders, 2);
    assert_int_equal(source.file_count, 2);
    assert_int_equal(source.followed_count, 1);
    expect_header(&source, 0, "b/cuda/std/tuple");
    memcpy(first, source.hash, HASH_BYTES);
    assert_int_equal(source_check(&source, &error), 0);
    assert_int_equal(system("mkdir -p a/cuda/std && touch a/cuda/std/tuple"), 0); /* comes first */
    assert_int_equal(source_check(&source, &error), ERROR_CONFIG);
    assert_int_equal(system("rm -r a/cuda"), 0);
    assert_int_equal(source_check(&source, &error), 0);
    scratch_write("b/cuda/std/tuple", "#error another one\n");
    assert_int_equal(source_check(&source, &error), ERROR_CONFIG);
    source_release(&source);
    load_hash("k.cu", folders, 2, other);
    assert_string_not_equal(first, other);
    scratch_write("k.cu", "int a;\n"); /* nothing of the toolkit's */
    source = load("k.cu", folders, 2);
    assert_int_equal(source.file_count, 1);
    source_release(&source);
}

UNIT_TEST_WITH(a_header_that_the_toolkit_can_find_is_scanned, scratch_enter, scratch_leave)
{
    static const char *const found[] = {"cuda.h", "cuda_runtime_api.h", "mma.h", "version"};
    char first[HASH_BYTES], other[HASH_BYTES];
    scratch_write("k.cu", "#include <tuple>\n");
    scratch_write("own.h", "");
    scratch_write("unrelated.h", "");
    scratch_write("cuda_program", ""); /* as of `make cuda_program` */
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        scratch_write(found[i], "#include \"own.h\"\n#include <cstdint>\n");
    struct source source = load("k.cu", NULL, 0);
    assert_int_equal(source.followed_count, 1);
    assert_int_equal(source.file_count, 6);
    for (size_t i = 0; i < 4; i++)
        expect_header(&source, i, found[i]);
    expect_header(&source, 4, "own.h");
    assert_int_equal(source.file_count, 6);
    assert_int_equal(source.toolkit_count, 1);
    memcpy(first, source.hash, HASH_BYTES);
    source_release(&source);
    scratch_write("own.h", "int a;\n");
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

UNIT_TEST_WITH(which_file_of_a_name_is_included_changes_the_hashes, scratch_enter, scratch_leave)
{
    const char *const before[] = {"p", "q", "r"}, *const after[] = {"p", "r", "q"};
    assert_int_equal(mkdir("p", 0700) + mkdir("q", 0700) + mkdir("r", 0700), 0);
    scratch_write("k.cu", "#include \"q/c.h\"\n#include <c.h>\n");
    scratch_write("p/c.h", "#include_next <c.h>\n");
    scratch_write("q/c.h", "int q;\n");
    scratch_write("r/c.h", "int r;\n");
    expect_other_hashes(before, 3, after, 3);
    /* b.h finds p/c.h if it is in p itself */
    scratch_write("k.cu", "#include \"p/a.h\"\n#include <b.h>\n");
    scratch_write("p/a.h", "#include \"c.h\"\n");
    scratch_write("p/c.h", "int p;\n");
    scratch_write("p/b.h", "#if __has_include(\"c.h\")\n#endif\n");
    assert_int_equal(mkdir("s", 0700) + link("p/b.h", "s/b.h"), 0);
    expect_other_hashes((const char *[]){"p"}, 1, (const char *[]){"s"}, 1);
}

UNIT_TEST_WITH(what_a_linked_header_includes_is_beside_the_link, scratch_enter, scratch_leave)
{
    assert_int_equal(mkdir("p", 0700) + mkdir("store", 0700), 0);
    scratch_write("k.cu", "#include \"p/a.h\"\n#include \"linked/a.h\"\n");
    scratch_write("store/a.h", "#include \"b.h\"\n");
    scratch_write("store/b.h", "");
    scratch_write("p/b.h", "");
    assert_int_equal(symlink("../store/a.h", "p/a.h") + symlink("p", "linked"), 0);
    struct source source = load("k.cu", NULL, 0);
    assert_int_equal(source.file_count, 3);
    assert_non_null(strstr(source.files[1].path, "/p/a.h"));
    expect_header(&source, 1, "p/b.h");
    source_release(&source);
}

UNIT_TEST_WITH(text_moved_between_headers_changes_the_hash, scratch_enter, scratch_leave)
{
    char first[HASH_BYTES], other[HASH_BYTES];
    scratch_write("k.cu", "#include \"a.h\"\n#include \"b.h\"\n");
    scratch_write("a.h", "int x;\n");
    load_hash("k.cu", NULL, 0, first);
    assert_int_equal(rename("a.h", "b.h"), 0);
    load_hash("k.cu", NULL, 0, other);
    assert_string_not_equal(first, other);
}

UNIT_TEST_WITH(the_hash_survives_a_move_of_the_folder, scratch_enter, scratch_leave)
{
    char first[HASH_BYTES], other[HASH_BYTES];
    assert_int_equal(mkdir("before", 0700), 0);
    scratch_write("before/k.cu", "#include \"h.h\"\n");
    scratch_write("before/h.h", "int b;\n");
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
    assert_int_equal(source.file_count, 0);
}

UNIT_TEST_WITH(what_cannot_be_read_is_named, scratch_enter, scratch_leave)
{
    const char *const folders[] = {"nowhere"};
    expect_refusal("missing.cu", NULL, 0, "'missing.cu'");
    expect_refusal(".", NULL, 0, "cannot read");
    expect_refusal("", NULL, 0, "''");
    scratch_write("k.cu", "int a;\n");
    expect_refusal("k.cu", folders, 1, "'nowhere'");
    FILE *file = fopen("zero.cu", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite("int a;\0int b;", 1, 13, file), 13);
    assert_int_equal(fclose(file), 0);
    expect_refusal("zero.cu", NULL, 0, "zero byte");
}

UNIT_TEST_WITH(a_whole_file_is_read_and_a_huge_one_refused, scratch_enter, scratch_leave)
{
    char *text = NULL;
    size_t length = 0;
    struct error error = {0};
    scratch_write("empty", "");
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

UNIT_TEST(hash_is_xxh3_128_and_tells_texts_apart)
{
    char digits[HASH_BYTES], other[HASH_BYTES];
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
        alloc_append(&all, " %c%s", letters[kind], lexer.token);
    } while (kind != TOKEN_END);
    source_lexer_release(&lexer);
    return all;
}

UNIT_TEST(test_lines_and_white_space)
{
    struct source_lexer lexer;
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

/* --- the table --- */

static void hash_text(const char *text, char hash[HASH_BYTES])
{
    scratch_write("k.cu", text);
    load_hash("k.cu", NULL, 0, hash);
}

static void check_hash(const struct test_case *test, bool same)
{
    char first[HASH_BYTES], second[HASH_BYTES];
    hash_text(test->fields[1], first);
    hash_text(test->fields[2], second);
    if ((strcmp(first, second) == 0) != same)
        case_fail(test, "%s hash", same ? "another" : "the same");
}

static void check_header(const struct test_case *test, bool includes)
{
    scratch_write("gain.h", "");
    scratch_write("k.cu", test->fields[1]);
    struct source source = load("k.cu", NULL, 0);
    bool found = false;
    for (size_t i = 1; i < source.file_count; i++)
        found = found || strstr(source.files[i].path, "/gain.h") != NULL;
    if (found != includes || (!includes && source.file_count > 1))
        case_fail(test, "%zu files", source.file_count);
    source_release(&source);
}

/* An #include whose file cannot be told, in line 2. */
static void check_refusal(const struct test_case *test)
{
    struct source source;
    struct error error = {0};
    scratch_write("k.cu", test->fields[1]);
    assert_int_equal(source_load(&source, "k.cu", NULL, 0, &error), ERROR_CONFIG);
    case_assert_text(test, error.message, "cannot tell which file the #include of '…");
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.file, "/k.cu"));
}

static void check_tokens(const struct test_case *test)
{
    char *tokens = tokens_of(test->fields[1]);
    case_assert_text(test, tokens + 1, test->fields[2]);
    free(tokens);
}

static void check_signature(const struct test_case *test)
{
    struct source_signature signature;
    if (!source_signature_read(test->fields[1], "k", &signature)) {
        case_assert_text(test, "not known", test->fields[2]);
        assert_int_equal(signature.count, 0);
        assert_null(signature.parameters);
        return;
    }
    char *text = source_signature_text(&signature);
    case_assert_text(test, signature.count > 0 ? text : "none", test->fields[2]);
    free(text);
    source_signature_release(&signature);
}

static void check_parameter(const struct test_case *test)
{
    struct source_signature signature;
    char text[128];
    (void)snprintf(text, sizeof text, "__global__ void k(%s) {}", test->fields[1]);
    assert_true(source_signature_read(text, "k", &signature));
    assert_int_equal(signature.count, 1);
    const struct source_parameter *parameter = &signature.parameters[0];
    (void)snprintf(text, sizeof text, "%s%s", parameter->pointer ? "pointer to " : "",
                   parameter->known ? element_name(parameter->type) : "not known");
    case_assert_text(test, text, test->fields[2]);
    source_signature_release(&signature);
}

static void check_case(void *user, const struct test_case *test)
{
    const char *kind = test->fields[0];
    (void)user;
    if (strcmp(kind, "same") == 0 || strcmp(kind, "other") == 0)
        check_hash(test, strcmp(kind, "same") == 0);
    else if (strcmp(kind, "found") == 0 || strcmp(kind, "none") == 0)
        check_header(test, strcmp(kind, "found") == 0);
    else if (strcmp(kind, "refused") == 0)
        check_refusal(test);
    else if (strcmp(kind, "tokens") == 0)
        check_tokens(test);
    else if (strcmp(kind, "signature") == 0)
        check_signature(test);
    else if (strcmp(kind, "parameter") == 0)
        check_parameter(test);
    else
        case_fail(test, "'%s' is not a kind", kind);
}

UNIT_TEST_WITH(sources, scratch_enter, scratch_leave)
{
    cases_run(CASES, check_case, NULL);
}

UNIT_TEST(kernels_and_macros_are_read_as_they_are_declared)
{
    static const char text[] = "#ifndef TILE\n#define TILE 32\n#endif\n#define FIXED 2\n#ifndef "
                               "HALF\n#define HALF (1)\n#endif\n"
                               "namespace ns {\ntemplate <typename T, int BLOCK = 64> __global__ "
                               "void __launch_bounds__(BLOCK, 2)\n"
                               "k(const T *in, float *const out, int sizes[2]) { out[threadIdx.x] "
                               "= in[blockIdx.x].y; }\n}\n"
                               "__global__ void declared(int y);\nextern \"C\" __global__ void "
                               "wide(int n) { n = blockIdx . y; }\n";
    struct source_kernel *kernels;
    struct source_macro *macros;
    assert_int_equal(source_kernels_read(text, &kernels), 2);
    assert_string_equal(kernels[0].scope, "ns::");
    assert_string_equal(kernels[0].bounds, "BLOCK");
    assert_int_equal(kernels[0].types.count, 2);
    assert_string_equal(kernels[0].types.parameters[1].name, "BLOCK");
    assert_true(kernels[0].types.parameters[1].known);
    assert_string_equal(kernels[0].signature.parameters[0].name, "in");
    assert_true(kernels[0].signature.parameters[0].constant);
    assert_string_equal(kernels[0].signature.parameters[1].name, "out");
    assert_false(kernels[0].signature.parameters[1].constant);
    assert_string_equal(kernels[0].signature.parameters[2].name, "sizes");
    assert_true(kernels[0].flat);
    assert_true(kernels[1].is_c);
    assert_false(kernels[1].flat);
    source_kernels_free(kernels, 2);
    assert_int_equal(source_macros_read(text, &macros), 1);
    assert_string_equal(macros[0].name, "TILE");
    assert_int_equal(macros[0].value, 32);
    free(macros[0].name);
    free(macros);
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
UNIT_TEST(a_mangled_name_tells_the_types_of_a_template)
{
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
