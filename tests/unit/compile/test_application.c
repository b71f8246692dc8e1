#include "compile/application.h"

#include "unit/scratch.h"
#include "unit/test.h"

static char cubin[] = "the cubin of a variant";

static char *options_first[] = {"-I/here", "-DA=1", "-DB=2"};
static char *options_moved[] = {"-DB=2", "-I/there", "-DA=1"};
static char *options_other[] = {"-I/here", "-DA=1", "-DB=3"};

static struct source source = {.hash = "0123"};
static struct source other_source = {.hash = "4567"};
static const struct options first = {.items = options_first, .count = 3};
static const struct options moved = {.items = options_moved, .count = 3};
static const struct options other = {.items = options_other, .count = 3};
static const struct cubin_origin origin = {&source, &first, 90};

static void write_first(void)
{
    const struct compilation compilation = {.cubin = cubin, .cubin_bytes = sizeof cubin - 1};
    struct error error;
    assert_int_equal(bundled_cubin_write("b/k.cubin", &origin, &compilation, &error), 0);
}

static void expect(const struct cubin_origin *from, const char *message)
{
    struct error error = {0};
    struct compilation compilation;
    int status = bundled_cubin_read("b/k.cubin", from, &compilation, &error);
    assert_int_equal(status, message == NULL ? 0 : ERROR_RECORD);
    if (message == NULL)
        assert_memory_equal(compilation.cubin, cubin, sizeof cubin - 1);
    else
        assert_non_null(strstr(error.message, message));
    assert_true((compilation.cubin != NULL) == (message == NULL));
    compilation_release(&compilation);
}

UNIT_TEST_WITH(test_it_is_read_for_what_it_was_compiled_from, scratch_enter, scratch_leave)
{
    write_first();
    expect(&origin, NULL);
    expect(&(struct cubin_origin){&source, &moved, 90}, NULL);
    expect(&(struct cubin_origin){&source, &other, 90}, "compiled from something else");
    expect(&(struct cubin_origin){&other_source, &first, 90}, "compiled from something else");
    expect(&(struct cubin_origin){&source, &first, 80}, "compiled from something else");
}

UNIT_TEST_WITH(test_its_cpp_names_come_with_it, scratch_enter, scratch_leave)
{
    static char entry[] = "ns::scale<float, TILE>";
    static char symbol[] = "_ZN2ns5scaleIfLi64EEEvPT_";
    static char plain[] = "plain";
    struct compiled_kernel kernels[] = {{.entry = plain}, {.entry = entry, .symbol = symbol}};
    const struct compilation written = {
        .cubin = cubin, .cubin_bytes = sizeof cubin - 1, .kernels = kernels, .kernel_count = 2};
    struct compilation read;
    assert_int_equal(bundled_cubin_write("b/k.cubin", &origin, &written, NULL), 0);
    assert_int_equal(bundled_cubin_read("b/k.cubin", &origin, &read, NULL), 0);
    assert_int_equal(read.kernel_count, 1);
    assert_string_equal(compilation_symbol(&read, entry), symbol);
    assert_string_equal(compilation_symbol(&read, plain), plain);
    compilation_release(&read);
    assert_int_equal(system("sed -i s/scaleIf/scaleId/ b/k.cubin.hash"), 0);
    expect(&origin, "damaged");
}

UNIT_TEST_WITH(test_a_damaged_one_is_not_read, scratch_enter, scratch_leave)
{
    for (size_t i = 0; i < sizeof cubin - 1; i++) {
        write_first();
        char *text = scratch_read("b/k.cubin");
        assert_non_null(text);
        text[i] ^= 1;
        assert_int_equal(scratch_write("b/k.cubin", text), 0);
        expect(&origin, "'b/k.cubin' is damaged");
        text[i] = '\0'; /* cut */
        assert_int_equal(scratch_write("b/k.cubin", text), 0);
        expect(&origin, "'b/k.cubin' is damaged");
        free(text);
    }
    write_first();
    assert_int_equal(scratch_write("b/k.cubin.hash", "0"), 0);
    expect(&origin, "damaged");
    assert_int_equal(unlink("b/k.cubin.hash"), 0);
    expect(&origin, "lacks 'b/k.cubin'");
    write_first();
    assert_int_equal(unlink("b/k.cubin"), 0);
    expect(&origin, "lacks 'b/k.cubin'");
}
